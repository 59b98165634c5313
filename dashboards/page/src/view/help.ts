// The keys, in a dialog of the browser.
import { h } from "./dom.ts";

const keys: [string, string][] = [
    ["?", "show or hide these keys"],
    ["Drag over a plot", "zoom into the span"],
    ["Ctrl + wheel, + and \u2212", "zoom around the cursor. After a click on a plot the wheel alone zooms."],
    ["Shift + drag, Shift + \u2190 \u2192", "move the span"],
    ["Double click, 0", "show the whole run"],
    ["Click on a plot, Enter", "show that moment in the tables: processes, growth, heap"],
    ["\u2190 \u2192", "move the cursor of a plot that has the focus"],
    ["Esc", "back to the latest moment"],
    ["n, p", "next and previous event"],
    ["Space", "pause and continue a live run"],
    ["x", "confirm a death of a live run: remove it from the top"],
    ["g", "growth as a table or as a flame graph"],
    ["l", "scale up to the limit, or to the curve"],
    ["z", "scale from 0, or from the lowest value"],
    ["t", "light or dark"],
];

export class Help {
    readonly element: HTMLDialogElement;
    constructor() {
        this.element = h(
            "dialog",
            { class: "help", "aria-labelledby": "help-title" },
            h("h2", { id: "help-title" }, "Keys"),
            h("dl", {}, ...keys.map(([key, does]) => h("div", {}, h("dt", {}, key), h("dd", {}, does)))),
            h("button", { type: "button", click: () => this.toggle() }, "Close"),
        );
    }
    get isOpen(): boolean {
        return this.element.open;
    }
    toggle(): void {
        if (this.element.open) this.element.close();
        else this.element.showModal();
    }
}
