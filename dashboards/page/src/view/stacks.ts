// Kinds of memory and roles, as stacked areas.
import type uPlot from "uplot";
import type { Curves, Series } from "../data/types.ts";
import { groupOf, highest, indexAt, lastKnown, stacked, type Stack } from "../model/columns.ts";
import type { Timeline } from "../model/timeline.ts";
import { name } from "../text/printable.ts";
import { size } from "../text/units.ts";
import { h, replace, section } from "./dom.ts";
import { LegendEntry, Plot } from "./plot.ts";
import { colour, onTheme, partColour, partFill } from "./theme.ts";

const mostParts = 8;

export interface StackOptions {
    id: string;
    title: string;
    group: string;
    note: string;
    absent: string;
    rest: string;
    largestFirst?: boolean;
    label?: (series: Series) => string;
}

function swatch(index: number): HTMLElement {
    const element = h("i", { class: "key key-area", "aria-hidden": "true" });
    const canvas = h("canvas", { width: 12, height: 12 });
    const paint = () => {
        const draw = canvas.getContext("2d");
        if (!draw) return;
        draw.fillStyle = partFill(index);
        draw.fillRect(0, 0, 12, 12);
    };
    paint();
    element.append(canvas);
    return element;
}

export class StackView {
    readonly element: HTMLElement;
    private readonly body: HTMLElement;
    private readonly legend: HTMLElement;
    private readonly plot: Plot;
    private stack: Stack = { labels: [], ids: [], values: [], sums: [] };
    private times: number[] = [];
    private entries: LegendEntry[] = [];
    private entryKey = "";

    constructor(
        private readonly timeline: Timeline,
        private readonly options: StackOptions,
    ) {
        this.plot = new Plot(timeline, {
            label: options.title,
            height: 190,
            series: () =>
                // The tallest sum is drawn first, so that each area covers the part of the sums below it.
                [...this.stack.sums.keys()].reverse().map((i) => ({
                    stroke: partColour(i),
                    fill: () => partFill(i) as string,
                    width: 1,
                    points: { show: false },
                })),
            top: (high) => high * 1.08,
            above: (u) => this.drawLabels(u),
        });
        this.legend = h("div", { class: "legend" });
        this.body = h("div", {});
        this.element = section(options.id, options.title);
        this.element.append(h("p", { class: "note" }, options.note), this.legend, this.body);
        timeline.listen((change) => change !== "view" && this.readOut());
        onTheme(() => {
            this.entryKey = "";
            this.writeLegend();
        });
    }

    update(curves: Curves): void {
        const series = groupOf(curves, this.options.group).map((each) => ({ ...each, label: name(this.options.label?.(each) ?? each.label, 40) }));
        const top = (each: Series) => highest(each.mean ?? each.high ?? []) ?? 0;
        const used = series.filter((each) => top(each) > 0);
        if (this.options.largestFirst) used.sort((a, b) => top(b) - top(a));
        this.times = curves.time;
        if (used.length === 0) {
            replace(this.body, h("p", { class: "absent" }, curves.complete ? this.options.absent : "memscope is still reading older ticks."));
            this.legend.replaceChildren();
            this.entryKey = "";
            return;
        }
        if (this.plot.element.parentElement !== this.body) replace(this.body, this.plot.element);
        this.stack = stacked(used, mostParts, this.options.rest);
        this.plot.setData([curves.time, ...[...this.stack.sums].reverse()] as uPlot.AlignedData);
        this.plot.describe(
            `${this.options.title} At the end of the span: ${this.stack.labels.map((label, i) => `${label} ${size(lastKnown(this.stack.values[i] ?? []) ?? 0)}`).join(", ")}.`,
        );
        this.writeLegend();
    }

    private writeLegend(): void {
        const key = this.stack.labels.join("\n");
        if (key !== this.entryKey) {
            this.entryKey = key;
            this.entries = this.stack.labels.map((label, i) => new LegendEntry(label, swatch(i)));
            replace(this.legend, ...this.entries.map((entry) => entry.element));
        }
        this.readOut();
    }

    private readOut(): void {
        const at = this.timeline.hover ?? this.timeline.moment;
        const i = at === null ? this.times.length - 1 : indexAt(this.times, at);
        this.entries.forEach((entry, k) => entry.set(this.stack.values[k]?.[i] ?? null));
    }

    /** Writes the name of a part into its area if there is room. */
    private drawLabels(u: uPlot): void {
        const ratio = devicePixelRatio;
        const { ctx, bbox } = u;
        ctx.font = `600 ${10.5 * ratio}px system-ui, sans-serif`;
        ctx.textAlign = "right";
        ctx.textBaseline = "middle";
        const last = indexAt(this.times, this.timeline.span.to);
        const x = Math.min(u.valToPos(this.times[last] ?? 0, "x", true), bbox.left + bbox.width) - 6 * ratio;
        this.stack.labels.forEach((label, k) => {
            const upper = this.stack.sums[k]?.[last];
            const lower = k > 0 ? this.stack.sums[k - 1]?.[last] ?? 0 : 0;
            if (typeof upper !== "number" || x < bbox.left + 60 * ratio) return;
            const high = u.valToPos(upper, "y", true);
            const low = u.valToPos(lower, "y", true);
            if (low - high < 15 * ratio) return;
            const wide = ctx.measureText(label).width;
            ctx.fillStyle = colour("--label-back");
            ctx.fillRect(x - wide - 4 * ratio, (high + low) / 2 - 7.5 * ratio, wide + 8 * ratio, 15 * ratio);
            ctx.fillStyle = colour("--ink");
            ctx.fillText(label, x, (high + low) / 2);
        });
    }
}
