// The events, newest first. A click moves the cursor of all plots and the moment of all tables.
import type { RunEvent } from "../data/types.ts";
import type { Timeline } from "../model/timeline.ts";
import { clock, day, dayAndClock } from "../text/times.ts";
import { count } from "../text/units.ts";
import { h, replace, section, setText } from "./dom.ts";
import { glyphOf, isMark, wordsOf } from "./marks.ts";
import { prose } from "./prose.ts";

const mostShown = 200;

export class EventView {
    readonly element: HTMLElement;
    private readonly list: HTMLElement;
    private readonly note: HTMLElement;
    private readonly box: HTMLInputElement;
    private events: readonly RunEvent[] = [];
    private key = "";

    constructor(private readonly timeline: Timeline) {
        this.list = h("ol", { class: "events" });
        this.note = h("p", { class: "note" });
        this.box = h("input", { type: "checkbox", change: () => ((this.key = ""), this.draw()) });
        this.element = section("events", "What happened?", h("label", { class: "check" }, this.box, "with notices"));
        this.element.append(this.note, h("div", { class: "events-box", tabindex: 0, role: "region", "aria-label": "Events" }, this.list));
        timeline.listen((change) => change === "moment" && this.markCurrent());
    }

    update(events: readonly RunEvent[]): void {
        this.events = events;
        this.draw();
    }

    /** The event before or after a time; null if there is none. */
    next(from: number, direction: 1 | -1): RunEvent | null {
        const list = this.events.filter((event) => isMark(event.kind));
        const found = direction > 0 ? list.find((event) => event.time > from + 1e-3) : [...list].reverse().find((event) => event.time < from - 1e-3);
        return found ?? null;
    }

    private draw(): void {
        const wanted = this.events.filter((event) => this.box.checked || event.kind !== "notice");
        const key = `${wanted.length} ${wanted[wanted.length - 1]?.time ?? ""}`;
        if (key === this.key) return;
        this.key = key;
        const shown = wanted.slice(-mostShown).reverse();
        const first = shown[shown.length - 1];
        const sameDay = first !== undefined && day(first.time) === day((shown[0] as RunEvent).time);
        setText(this.note, shown.length === 0 ? "" : wanted.length > shown.length ? `The newest ${count(shown.length)} of ${count(wanted.length)} events. Choose one to see its moment.` : "Choose an event to see its moment.");
        if (shown.length === 0) return replace(this.list, h("li", { class: "absent" }, "No verdict changed, no precursor was active and nothing died."));
        replace(
            this.list,
            ...shown.map((event) =>
                h(
                    "li",
                    {},
                    h(
                        "button",
                        { type: "button", class: "event", "data-kind": event.kind, "data-time": event.time, click: () => this.choose(event) },
                        h("time", {}, sameDay ? clock(event.time) : dayAndClock(event.time)),
                        h("span", { class: "glyph", title: wordsOf(event.kind) }, h("span", { "aria-hidden": "true" }, glyphOf(event.kind)), h("span", { class: "hidden" }, wordsOf(event.kind))),
                        h("span", { class: "event-text" }, prose(event.kind === "precursor_over" ? `${wordsOf(event.kind)}: ${event.text}` : event.text)),
                    ),
                ),
            ),
        );
        this.markCurrent();
    }

    private choose(event: RunEvent): void {
        this.timeline.seek(event.time);
        this.timeline.point(event.time);
    }

    private markCurrent(): void {
        const { moment } = this.timeline;
        for (const button of this.list.querySelectorAll<HTMLElement>("button.event")) {
            const current = moment !== null && Math.abs(Number(button.dataset.time) - moment) < 1e-3;
            if (current) button.setAttribute("aria-current", "true");
            else button.removeAttribute("aria-current");
        }
    }
}
