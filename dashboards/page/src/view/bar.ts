// The bar at the top: what is shown, and the controls of the timeline.
import type { Run } from "../data/types.ts";
import type { Timeline } from "../model/timeline.ts";
import { clock, dayAndClock, zone } from "../text/times.ts";
import { duration } from "../text/units.ts";
import { h, nameOf, setText } from "./dom.ts";

interface Actions {
    theme: () => void;
    help: () => void;
    limit: () => void;
    zero: () => void;
}

export class Bar {
    readonly element: HTMLElement;
    private readonly state: HTMLElement;
    private readonly pause: HTMLButtonElement;
    private readonly moment: HTMLElement;
    private readonly back: HTMLButtonElement;
    private readonly tails: HTMLButtonElement[];
    private ended: boolean;

    constructor(
        private readonly run: Run,
        private readonly timeline: Timeline,
        actions: Actions,
    ) {
        this.ended = run.mode !== "live";
        const button = (label: string, hint: string, click: () => void, className = "") => h("button", { type: "button", class: className || null, title: hint, click }, label);
        const middle = () => (timeline.span.from + timeline.span.to) / 2;
        this.state = h("span", { class: "state" });
        this.pause = button("Pause", "Space", () => timeline.pause(!timeline.paused));
        this.moment = h("span", { class: "moment" });
        this.back = button("", "Esc", () => timeline.pin(null), "primary");
        const length = Math.max(0, (run.ended ?? timeline.last) - run.began);
        const spans: [string, number][] = [
            ["10 min", 600],
            ["1 h", 3600],
        ];
        this.tails = spans
            .filter(([, seconds]) => run.mode === "live" || length > seconds * 1.2)
            .map(([label, seconds]) => button(`Last ${label}`, `Show the last ${label}`, () => timeline.tail(seconds)));
        const icon = (label: string, text: string, hint: string, click: () => void) => h("button", { type: "button", class: "icon", "aria-label": label, title: `${label} (${hint})`, click }, text);
        this.element = h(
            "header",
            { class: "bar-top" },
            h("div", { class: "what" }, h("strong", { class: "brand" }, "memscope"), nameOf(run.target, 60, "target"), this.state),
            h(
                "div",
                { class: "controls", role: "group", "aria-label": "Timeline" },
                this.moment,
                this.back,
                run.mode === "live" && this.pause,
                ...this.tails,
                button("Whole run", "0", () => timeline.whole()),
                icon("Zoom out", "\u2212", "-", () => timeline.zoom(middle(), 2)),
                icon("Zoom in", "+", "+", () => timeline.zoom(middle(), 0.5)),
                icon("Scale up to the limit, or to the curve", "\u2195", "l", actions.limit),
                icon("Light or dark", "\u25d1", "t", actions.theme),
                icon("Keys", "?", "?", actions.help),
            ),
        );
        timeline.listen((change) => change !== "hover" && this.draw());
        this.draw();
    }

    update(ended: boolean): void {
        if (ended === this.ended) return;
        this.ended = ended;
        this.draw();
    }

    private draw(): void {
        const { run, timeline } = this;
        const { moment } = timeline;
        const began = dayAndClock(run.began);
        const text = this.ended
            ? run.mode === "live"
                ? `The watcher ended. ${began} to ${clock(timeline.last)}`
                : `${run.mode === "report" ? "Report" : "Recording"}, ${began}, ${duration((run.ended ?? timeline.last) - run.began)}`
            : timeline.paused
              ? `Paused at ${clock(timeline.last)}`
              : run.interval > 0 ? `Live, a tick every ${duration(run.interval)}` : "Live";
        setText(this.state, text);
        this.state.title = `Times are local: ${zone()}`;
        this.state.dataset.live = this.ended ? "no" : timeline.paused ? "paused" : "yes";
        setText(this.pause, timeline.paused ? "Continue" : "Pause");
        this.pause.disabled = this.ended;
        setText(this.moment, timeline.isPinned && moment !== null ? `Tables show ${clock(moment)}` : "");
        this.back.hidden = !timeline.isPinned;
        setText(this.back, this.ended ? "Back to the end" : "Back to now");
    }
}
