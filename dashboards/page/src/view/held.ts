// The main curve: unreclaimable memory, its floor, the limit, and the forecast.
import type uPlot from "uplot";
import { highest, indexAt, lastKnown, lowest, middle, seriesOf } from "../model/columns.ts";
import type { Timeline } from "../model/timeline.ts";
import type { Curves, Forecast, Phase, RunEvent } from "../data/types.ts";
import { clock } from "../text/times.ts";
import { duration, size } from "../text/units.ts";
import { cut, printable } from "../text/printable.ts";
import { h, replace, section, setText } from "./dom.ts";
import { glyphOf, markColour, drawGlyph, isMark } from "./marks.ts";
import { LegendEntry, Plot, timeReadout } from "./plot.ts";
import { colour } from "./theme.ts";

export interface HeldFacts {
    phases: readonly Phase[];
    events: readonly RunEvent[];
    forecast: Forecast | null;
    limitOwner: string;
    peak: string;
}

const mostMarks = 200;

function isOwn(forecast: Forecast): boolean {
    return !forecast.limit_owner || forecast.limit_owner === "own";
}

export class HeldView {
    readonly element: HTMLElement;
    private readonly plot: Plot;
    private readonly near: HTMLElement;
    private readonly peak = h("p", { class: "note" });
    private readonly tableBox: HTMLElement;
    private readonly legend: Record<"held" | "low" | "high" | "floor" | "usage" | "limit", LegendEntry>;
    private curves: Curves | null = null;
    private facts: HeldFacts = { phases: [], events: [], forecast: null, limitOwner: "", peak: "" };
    private limitShown = true;
    private fromZero = true;

    constructor(private readonly timeline: Timeline) {
        const line = (name: string) => h("i", { class: `key key-${name}`, "aria-hidden": "true" });
        this.legend = {
            held: new LegendEntry("cannot be reclaimed", line("held"), "Mean of the ticks in one bin: the memory that only the job itself can give back"),
            low: new LegendEntry("lowest", line("band"), "The band reaches from the lowest to the highest tick of each bin"),
            high: new LegendEntry("highest", line("band"), "The band reaches from the lowest to the highest tick of each bin"),
            floor: new LegendEntry("floor", line("floor"), "The lower envelope: it decides the verdict"),
            usage: new LegendEntry("used, with page cache", line("usage"), "Everything that is charged to the target, page cache included"),
            limit: new LegendEntry("limit", line("limit"), "The limit with the least headroom"),
        };
        this.plot = new Plot(timeline, {
            label: "What cannot be reclaimed, over time",
            height: 300,
            series: () => [
                { label: "high", stroke: "transparent", width: 0, points: { show: false } },
                { label: "low", stroke: "transparent", width: 0, points: { show: false } },
                { label: "usage", stroke: colour("--usage"), width: 1, dash: [2, 3], points: { show: false } },
                { label: "floor", stroke: colour("--floor"), width: 1.5, dash: [6, 4], points: { show: false } },
                { label: "held", stroke: colour("--held"), width: 2, points: { show: false } },
            ],
            bands: () => [{ series: [1, 2], fill: colour("--band") }],
            top: (top) => this.top(top),
            bottom: (low, high) => (this.fromZero ? 0 : Math.max(0, low - (high - low) * 0.1)),
            behind: (u) => this.drawBehind(u),
            above: (u) => this.drawAbove(u),
        });
        this.near = h("p", { class: "near", "aria-live": "off" });
        this.tableBox = h("div", { class: "scroll" });
        const details = h("details", { class: "as-table" }, h("summary", {}, "As a table"), this.tableBox);
        details.addEventListener("toggle", () => details.open && this.writeTable());
        this.element = section(
            "held",
            "What cannot be reclaimed?",
            h("div", { class: "legend" }, timeReadout(timeline), ...Object.values(this.legend).map((entry) => entry.element)),
        );
        this.element.append(this.plot.element, this.near, h("div", { class: "below-plot" }, details, this.peak));
        timeline.listen((change) => change !== "view" && this.readOut());
    }

    toggleLimit(): void {
        this.limitShown = !this.limitShown;
        this.draw();
    }
    toggleZero(): void {
        this.fromZero = !this.fromZero;
        this.draw();
    }

    update(curves: Curves, facts: HeldFacts): void {
        this.curves = curves;
        this.facts = facts;
        setText(this.peak, facts.peak);
        this.draw();
    }

    private get limit(): number | null {
        return this.curves ? lastKnown(middle(seriesOf(this.curves, "limit"))) : null;
    }

    /** The plot contains the limit, except if the curve would then be too flat to read. */
    private top(high: number): number {
        const { forecast } = this.facts;
        const limit = Math.max(this.limit ?? 0, forecast && isOwn(forecast) ? forecast.limit_bytes : 0);
        return this.limitShown && limit > 0 && limit < high * 4 ? Math.max(limit, high) * 1.09 : high * 1.12;
    }

    private draw(): void {
        const { curves } = this;
        if (!curves) return;
        const held = seriesOf(curves, "held");
        const blank = curves.time.map(() => null);
        const column = (values: (number | null)[] | undefined) => (values && values.length === curves.time.length ? values : blank);
        const mean = middle(held);
        this.plot.setData([
            curves.time,
            column(held?.high ?? mean),
            column(held?.low ?? mean),
            column(middle(seriesOf(curves, "usage"))),
            column(middle(seriesOf(curves, "floor"))),
            column(mean),
        ] as uPlot.AlignedData);
        const top = highest(held?.high ?? mean);
        const low = lowest(held?.low ?? mean);
        const last = lastKnown(mean);
        if (top !== null && low !== null && last !== null)
            this.plot.describe(
                `Memory that cannot be reclaimed, from ${clock(this.timeline.span.from)} to ${clock(this.timeline.span.to)}: ` +
                    `between ${size(low)} and ${size(top)}, at the end ${size(last)}` +
                    `${this.limit !== null ? `, limit ${size(this.limit)}` : ", no limit"}. Arrow keys move the cursor.`,
            );
        this.readOut();
    }

    private readOut(): void {
        const { curves } = this;
        if (!curves) return;
        const at = this.timeline.hover ?? this.timeline.moment;
        const i = at === null ? curves.time.length - 1 : indexAt(curves.time, at);
        const held = seriesOf(curves, "held");
        const value = (column: (number | null)[] | undefined) => column?.[i] ?? null;
        this.legend.held.set(value(middle(held)));
        this.legend.low.set(value(held?.low));
        this.legend.high.set(value(held?.high));
        for (const id of ["floor", "usage", "limit"] as const) this.legend[id].set(value(middle(seriesOf(curves, id))));
        this.nameMark();
    }

    /** The text of the event at the cursor. */
    private nameMark(): void {
        const { hover } = this.timeline;
        const { from, to } = this.timeline.span;
        const reach = (to - from) / 120;
        let best: RunEvent | null = null;
        if (hover !== null)
            for (const event of this.facts.events)
                if (isMark(event.kind) && Math.abs(event.time - hover) < reach && (!best || Math.abs(event.time - hover) < Math.abs(best.time - hover))) best = event;
        setText(this.near, best ? `${glyphOf(best.kind)} ${clock(best.time)}  ${cut(printable(best.text.slice(0, 600)), 300)}` : "");
    }

    private drawBehind(u: uPlot): void {
        const ratio = devicePixelRatio;
        const { ctx, bbox } = u;
        for (const phase of this.facts.phases) {
            const left = Math.max(bbox.left, u.valToPos(phase.from, "x", true));
            const right = Math.min(bbox.left + bbox.width, u.valToPos(phase.to, "x", true));
            if (right - left < 1) continue;
            ctx.fillStyle = colour(phase.kind === "leak" ? "--leak-band" : "--warmup-band");
            ctx.fillRect(left, bbox.top, right - left, bbox.height);
            const words = phase.kind === "leak" ? "leak" : phase.kind === "warmup" ? "warm-up" : phase.kind;
            ctx.font = `${11 * ratio}px system-ui, sans-serif`;
            if (ctx.measureText(words).width + 12 * ratio > right - left) continue;
            ctx.fillStyle = colour("--muted");
            ctx.textBaseline = "bottom";
            ctx.textAlign = "left";
            ctx.fillText(words, left + 6 * ratio, bbox.top + bbox.height - 4 * ratio);
        }
    }

    private drawAbove(u: uPlot): void {
        this.drawLimit(u);
        const { left, top, width, height } = u.bbox;
        u.ctx.save();
        u.ctx.beginPath();
        u.ctx.rect(left, top - 12 * devicePixelRatio, width, height + 12 * devicePixelRatio);
        u.ctx.clip();
        this.drawForecast(u);
        u.ctx.restore();
        this.drawMarks(u);
    }

    private drawLimit(u: uPlot): void {
        const { limit } = this;
        if (limit === null) return;
        const ratio = devicePixelRatio;
        const { ctx, bbox } = u;
        const top = u.scales.y?.max ?? 0;
        ctx.font = `600 ${11 * ratio}px system-ui, sans-serif`;
        ctx.fillStyle = ctx.strokeStyle = colour("--limit");
        ctx.textAlign = "left";
        ctx.textBaseline = "bottom";
        const owner = this.facts.limitOwner === "own" || !this.facts.limitOwner ? "its own" : this.facts.limitOwner;
        const words = `limit ${size(limit)} (${cut(printable(owner.slice(0, 80)), 40)})`;
        if (limit > top) {
            ctx.textBaseline = "top";
            ctx.fillText(`\u2191 ${words}, above this plot`, bbox.left + 6 * ratio, bbox.top + 4 * ratio);
            return;
        }
        const y = Math.round(u.valToPos(limit, "y", true));
        ctx.lineWidth = 1.5 * ratio;
        ctx.setLineDash([]);
        ctx.beginPath();
        ctx.moveTo(bbox.left, y);
        ctx.lineTo(bbox.left + bbox.width, y);
        ctx.stroke();
        ctx.textBaseline = y - bbox.top > 14 * ratio ? "bottom" : "top";
        ctx.fillText(words, bbox.left + 6 * ratio, y + (ctx.textBaseline === "top" ? 3 : -3) * ratio);
    }

    /**
     * From the last value to the limit: a line to the expected time, and a cone to the earliest and the latest time. If the
     * limit belongs to an ancestor or the host, other jobs also fill it, so this curve does not reach it. Then only the
     * time is drawn.
     */
    private drawForecast(u: uPlot): void {
        const { forecast } = this.facts;
        const { curves, timeline } = this;
        if (!forecast || !curves || timeline.paused) return;
        const time = curves.time[curves.time.length - 1];
        const from = lastKnown(middle(seriesOf(curves, "floor"))) ?? lastKnown(middle(seriesOf(curves, "held")));
        if (time === undefined || from === null) return;
        const ratio = devicePixelRatio;
        const { ctx, bbox } = u;
        const x = (seconds: number) => Math.min(u.valToPos(time + seconds, "x", true), bbox.left + bbox.width * 40);
        const y = (bytes: number) => u.valToPos(bytes, "y", true);
        const { limit_bytes: limit, eta_seconds: eta } = forecast;
        const earliest = forecast.earliest_seconds ?? eta;
        ctx.fillStyle = colour("--cone");
        if (!isOwn(forecast)) {
            const right = typeof forecast.latest_seconds === "number" ? x(forecast.latest_seconds) : bbox.left + bbox.width;
            ctx.fillRect(x(earliest), bbox.top, Math.min(right, bbox.left + bbox.width) - x(earliest), bbox.height);
            ctx.strokeStyle = ctx.fillStyle = colour("--limit");
            ctx.lineWidth = 1.5 * ratio;
            ctx.setLineDash([5 * ratio, 4 * ratio]);
            ctx.beginPath();
            ctx.moveTo(x(eta), bbox.top);
            ctx.lineTo(x(eta), bbox.top + bbox.height);
            ctx.stroke();
            ctx.setLineDash([]);
            ctx.font = `${11 * ratio}px system-ui, sans-serif`;
            ctx.textAlign = "right";
            ctx.textBaseline = "bottom";
            const owner = forecast.limit_owner === "host" ? "the host" : cut(printable((forecast.limit_owner ?? "").slice(0, 80)), 30);
            ctx.fillText(`${owner} is full in ${duration(eta)}`, Math.min(x(eta), bbox.left + bbox.width) - 6 * ratio, bbox.top + bbox.height - 18 * ratio);
            return;
        }
        ctx.beginPath();
        ctx.moveTo(x(0), y(from));
        ctx.lineTo(x(earliest), y(limit));
        // There is no latest time if the limit may never be reached.
        if (typeof forecast.latest_seconds === "number") {
            ctx.lineTo(x(forecast.latest_seconds), y(limit));
        } else {
            ctx.lineTo(bbox.left + bbox.width, y(limit));
            ctx.lineTo(bbox.left + bbox.width, y(from));
        }
        ctx.closePath();
        ctx.fill();
        ctx.strokeStyle = colour("--limit");
        ctx.lineWidth = 1.5 * ratio;
        ctx.setLineDash([5 * ratio, 4 * ratio]);
        ctx.beginPath();
        ctx.moveTo(x(0), y(from));
        ctx.lineTo(x(eta), y(limit));
        ctx.stroke();
        ctx.setLineDash([]);
        const end = x(eta);
        if (end < bbox.left + bbox.width && end > bbox.left) {
            ctx.fillStyle = colour("--limit");
            ctx.beginPath();
            ctx.arc(end, y(limit), 3.5 * ratio, 0, 7);
            ctx.fill();
            ctx.font = `${11 * ratio}px system-ui, sans-serif`;
            ctx.textAlign = "right";
            ctx.textBaseline = "bottom";
            ctx.fillText(`in ${duration(eta)}`, end + 4 * ratio, y(limit) - 6 * ratio);
        }
    }

    private drawMarks(u: uPlot): void {
        const ratio = devicePixelRatio;
        const { ctx, bbox } = u;
        const { from, to } = this.timeline.span;
        const seen = this.facts.events.filter((event) => isMark(event.kind) && event.time >= from && event.time <= to);
        // Deaths are always drawn, and drawn last, so that no other mark covers them.
        const shown = [...seen.filter((event) => event.kind !== "death").slice(-mostMarks), ...seen.filter((event) => event.kind === "death").slice(-mostMarks)];
        for (const event of shown) {
            const x = Math.round(u.valToPos(event.time, "x", true));
            const strong = event.kind === "death";
            ctx.strokeStyle = markColour(event.kind);
            ctx.globalAlpha = strong ? 0.9 : 0.45;
            ctx.lineWidth = (strong ? 2 : 1) * ratio;
            ctx.setLineDash(strong ? [] : [2 * ratio, 3 * ratio]);
            ctx.beginPath();
            ctx.moveTo(x, bbox.top);
            ctx.lineTo(x, bbox.top + bbox.height);
            ctx.stroke();
            ctx.globalAlpha = 1;
            ctx.setLineDash([]);
            drawGlyph(ctx, event.kind, x, bbox.top - 3 * ratio, 5 * ratio);
        }
    }

    private writeTable(): void {
        const { curves } = this;
        if (!curves) return;
        const held = seriesOf(curves, "held");
        const step = Math.max(1, Math.ceil(curves.time.length / 24));
        const rows: number[] = [];
        for (let i = 0; i < curves.time.length; i += step) rows.push(i);
        const text = (value: number | null | undefined) => (typeof value === "number" ? size(value) : "\u2013");
        replace(
            this.tableBox,
            h(
                "table",
                {},
                h("caption", { class: "hidden" }, "Memory that cannot be reclaimed, in the span that the plot shows"),
                h("thead", {}, h("tr", {}, ...["Time", "Mean", "Lowest", "Highest", "Floor", "Limit"].map((title, i) => h("th", { scope: "col", class: i ? "num" : null }, title)))),
                h(
                    "tbody",
                    {},
                    ...rows.map((i) =>
                        h(
                            "tr",
                            {},
                            h("th", { scope: "row" }, clock(curves.time[i] as number)),
                            ...[middle(held)[i], held?.low?.[i], held?.high?.[i], middle(seriesOf(curves, "floor"))[i], middle(seriesOf(curves, "limit"))[i]].map((value) =>
                                h("td", { class: "num" }, text(value)),
                            ),
                        ),
                    ),
                ),
            ),
        );
    }
}
