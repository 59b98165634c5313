// GPUs: the memory that the job holds there, how much of it is in tensors, and the memory that other processes hold.
import type uPlot from "uplot";
import type { Curves, GpuDevice, Tick } from "../data/types.ts";
import { groupOf, highest, indexAt, lastKnown, middle, seriesOf } from "../model/columns.ts";
import type { Timeline } from "../model/timeline.ts";
import { name } from "../text/printable.ts";
import { percent, size } from "../text/units.ts";
import { h, replace, section, setText } from "./dom.ts";
import { LegendEntry, Plot } from "./plot.ts";
import { colour } from "./theme.ts";

interface Line {
    what: string;
    label: string;
    colour: string;
    dash: number[];
    width: number;
}
const lines: Line[] = [
    { what: "used", label: "used", colour: "--ink", dash: [], width: 2 },
    { what: "target", label: "by this job", colour: "--held", dash: [], width: 2 },
    { what: "reserved", label: "reserved", colour: "--part-4", dash: [8, 3], width: 1.5 },
    { what: "tensors", label: "in tensors", colour: "--floor", dash: [5, 4], width: 1.5 },
    { what: "others", label: "by other processes", colour: "--part-3", dash: [2, 3], width: 1.5 },
];
const mostGpus = 16;

class OneGpu {
    readonly element: HTMLElement;
    private readonly title = h("h3", {});
    private readonly trouble = h("p", { class: "trouble-line" });
    private readonly entries: LegendEntry[];
    private readonly plot: Plot;
    private curves: Curves | null = null;

    constructor(
        readonly index: string,
        private readonly timeline: Timeline,
    ) {
        this.entries = lines.map((line, i) => new LegendEntry(line.label, h("i", { class: `key key-gpu-${i}`, "aria-hidden": "true" })));
        this.plot = new Plot(timeline, {
            label: `GPU ${index}`,
            height: 150,
            series: () => lines.map((line) => ({ stroke: colour(line.colour), width: line.width, dash: line.dash, points: { show: false } })),
            top: (high) => (this.total !== null && this.total < high * 4 ? this.total * 1.05 : high * 1.15),
            above: (u) => this.drawTotal(u),
        });
        this.element = h("article", { class: "gpu" }, this.title, h("div", { class: "legend" }, ...this.entries.map((entry) => entry.element)), this.trouble, this.plot.element);
        timeline.listen((change) => change !== "view" && this.readOut());
    }

    private column(what: string): (number | null)[] {
        return this.curves ? middle(seriesOf(this.curves, `gpu:${this.index}:${what}`)) : [];
    }
    private get total(): number | null {
        return lastKnown(this.column("total"));
    }

    update(curves: Curves, device: GpuDevice | null): void {
        this.curves = curves;
        const blank = curves.time.map(() => null);
        const data = lines.map((line) => {
            const column = this.column(line.what);
            return column.length === curves.time.length ? column : blank;
        });
        const label = (seriesOf(curves, `gpu:${this.index}:used`)?.label ?? "").replace(/ used$/, "");
        const called = label.startsWith("GPU") ? name(label, 70) : `GPU ${this.index}${device ? `: ${name(device.name, 60)}` : ""}`;
        setText(this.title, `${called}${typeof device?.utilization_ratio === "number" ? `, ${percent(device.utilization_ratio)} busy` : ""}`);
        setText(this.trouble, device?.trouble ? name(device.trouble, 200) : "");
        this.plot.setData([curves.time, ...data] as uPlot.AlignedData);
        const used = lastKnown(this.column("used"));
        const top = highest(this.column("used"));
        this.plot.describe(`GPU ${this.index}: ${used !== null ? `${size(used)} used at the end` : "use not known"}${top !== null ? `, at most ${size(top)}` : ""}${this.total !== null ? `, of ${size(this.total)}` : ""}.`);
        lines.forEach((_, i) => (this.entries[i] as LegendEntry).element.toggleAttribute("hidden", highest(data[i] ?? []) === null));
        this.readOut();
    }

    private readOut(): void {
        if (!this.curves) return;
        const at = this.timeline.hover ?? this.timeline.moment;
        const i = at === null ? this.curves.time.length - 1 : indexAt(this.curves.time, at);
        lines.forEach((line, k) => this.entries[k]?.set(this.column(line.what)[i] ?? null));
    }

    private drawTotal(u: uPlot): void {
        const { total } = this;
        if (total === null) return;
        const ratio = devicePixelRatio;
        const { ctx, bbox } = u;
        ctx.fillStyle = ctx.strokeStyle = colour("--limit");
        ctx.font = `600 ${11 * ratio}px system-ui, sans-serif`;
        ctx.textAlign = "right";
        const inView = total <= (u.scales.y?.max ?? 0);
        const y = inView ? Math.round(u.valToPos(total, "y", true)) : bbox.top;
        if (inView) {
            ctx.lineWidth = 1.5 * ratio;
            ctx.beginPath();
            ctx.moveTo(bbox.left, y);
            ctx.lineTo(bbox.left + bbox.width, y);
            ctx.stroke();
        }
        ctx.textBaseline = "top";
        const words = `${inView ? "" : "\u2191 "}${size(total)} in all`;
        const wide = ctx.measureText(words).width;
        const right = bbox.left + bbox.width - 4 * ratio;
        ctx.fillStyle = colour("--label-back");
        ctx.fillRect(right - wide - 4 * ratio, y + 2 * ratio, wide + 8 * ratio, 15 * ratio);
        ctx.fillStyle = colour("--limit");
        ctx.fillText(words, right, y + 4 * ratio);
    }
}

export class GpuView {
    readonly element: HTMLElement;
    private readonly body = h("div", { class: "gpus" });
    private readonly note = h("p", { class: "note" }, "Reserved: what the job has from the driver. In tensors: the part of it that PyTorch's tensors use. The rest is cached or fragmented.");
    private gpus: OneGpu[] = [];

    constructor(private readonly timeline: Timeline) {
        this.element = section("gpus", "Which processes hold GPU memory?");
        this.element.append(this.note, this.body);
    }

    update(curves: Curves, tick: Tick | null): void {
        const indices = [...new Set(groupOf(curves, "gpu").map((each) => each.id.split(":")[1] ?? ""))].filter(Boolean).slice(0, mostGpus);
        this.note.hidden = indices.length === 0;
        if (indices.length === 0) {
            this.gpus = [];
            return replace(this.body, h("p", { class: "absent" }, curves.complete ? "No GPU was seen on this machine." : "memscope is still reading older ticks."));
        }
        if (indices.join() !== this.gpus.map((gpu) => gpu.index).join()) {
            this.gpus = indices.map((index) => new OneGpu(index, this.timeline));
            replace(this.body, ...this.gpus.map((gpu) => gpu.element));
        }
        for (const gpu of this.gpus) gpu.update(curves, tick?.gpu?.devices.find((device) => String(device.index) === gpu.index && !device.part_of) ?? null);
    }
}
