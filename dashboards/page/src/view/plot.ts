// A uPlot that follows the time span and the cursor of the timeline, with zoom by drag and wheel, pan and pinch.
import uPlot from "uplot";
import type { Timeline } from "../model/timeline.ts";
import { axisTime, clock, timeTicks } from "../text/times.ts";
import { size, sizeTicks } from "../text/units.ts";
import { h, setText } from "./dom.ts";
import { colour, onTheme } from "./theme.ts";

export interface PlotOptions {
    label: string;
    height: number;
    /** Called again when the theme or the number of series changes. */
    series: () => uPlot.Series[];
    bands?: () => uPlot.Band[];
    /** The top of the scale, from the highest value in view. */
    top: (highest: number) => number;
    bottom?: (lowest: number, highest: number) => number;
    /** Draws below and above the series. */
    behind?: (u: uPlot) => void;
    above?: (u: uPlot) => void;
}

const axisFont = "11px system-ui, sans-serif";

export class Plot {
    readonly element: HTMLElement;
    private readonly box: HTMLElement;
    private chart: uPlot | null = null;
    private data: uPlot.AlignedData = [[]];
    private seriesCount = -1;
    private waiting = 0;

    constructor(
        private readonly timeline: Timeline,
        private readonly options: PlotOptions,
    ) {
        this.box = h("div", { class: "plot-box" });
        // The keyboard moves the cursor of a plot that has the focus.
        this.element = h("div", { class: "plot", tabindex: 0, role: "img", "aria-label": options.label }, this.box);
        new ResizeObserver(() => this.resize()).observe(this.box);
        onTheme(() => this.rebuild());
        timeline.listen((change) => {
            if (change === "hover" || change === "moment") this.moveCursor();
            if (change === "moment" || change === "view") this.redraw();
        });
        this.element.addEventListener("keydown", (event) => this.key(event));
    }

    /** The text that a screen reader reads instead of the plot. */
    describe(text: string): void {
        this.element.setAttribute("aria-label", text);
    }

    setData(data: uPlot.AlignedData): void {
        this.data = data;
        if (!this.chart || this.seriesCount !== data.length) this.rebuild();
        else this.redraw();
    }

    /** Draws at most once per frame, for any number of changes. */
    private redraw(): void {
        if (this.waiting || !this.chart) return;
        this.waiting = requestAnimationFrame(() => {
            this.waiting = 0;
            this.chart?.setData(this.data, true);
            this.moveCursor();
        });
    }

    private resize(): void {
        const width = Math.floor(this.box.clientWidth);
        if (width <= 0) return;
        if (!this.chart) this.rebuild();
        else if (this.chart.width !== width) this.chart.setSize({ width, height: this.options.height });
    }

    private rebuild(): void {
        const width = Math.floor(this.box.clientWidth);
        if (width <= 0 || this.data.length < 2) return;
        this.chart?.destroy();
        this.seriesCount = this.data.length;
        const { timeline, options } = this;
        const axis = { stroke: colour("--muted"), font: axisFont, ticks: { show: false }, grid: { stroke: colour("--grid"), width: 1 } };
        this.chart = new uPlot(
            {
                width,
                height: options.height,
                padding: [12, 22, 0, 0],
                legend: { show: false },
                scales: {
                    x: { time: true, range: () => [timeline.span.from, timeline.span.to] },
                    y: {
                        range: (_u, low, high) => {
                            const highest = high ?? 0;
                            const top = options.top(highest);
                            return [options.bottom?.(low ?? 0, highest) ?? 0, top > 0 ? top : 1];
                        },
                    },
                },
                axes: [
                    {
                        ...axis,
                        size: 26,
                        splits: (u, _i, low, high) => timeTicks(low, high, Math.max(2, Math.floor(u.bbox.width / devicePixelRatio / 90))),
                        values: (_u, splits) => splits.map((time) => axisTime(time, timeline.span.to - timeline.span.from)),
                        grid: { show: false },
                    },
                    {
                        ...axis,
                        size: 64,
                        splits: (u, _i, low, high) => sizeTicks(low, high, Math.max(2, Math.floor(u.bbox.height / devicePixelRatio / 44))),
                        values: (_u, splits) => splits.map((bytes) => (bytes === 0 ? "0" : size(bytes))),
                    },
                ],
                cursor: {
                    y: false,
                    points: { size: (u, i) => (u.series[i]?.width ? 6 : 0) },
                    drag: { x: true, y: false, setScale: false, dist: 6 },
                    bind: {
                        // With Shift a drag moves the time span and selects nothing.
                        mousedown: (_u, _target, handler) => (event) => {
                            if (!event.shiftKey && event.button === 0) handler(event);
                            return null;
                        },
                        dblclick: () => () => {
                            timeline.whole();
                            return null;
                        },
                    },
                },
                series: [{}, ...options.series()],
                bands: options.bands?.() ?? [],
                hooks: {
                    drawClear: [(u) => clipped(u, () => options.behind?.(u))],
                    draw: [(u) => clipped(u, () => options.above?.(u)), (u) => this.drawMoment(u)],
                    setSelect: [
                        (u) => {
                            const { left, width: wide } = u.select;
                            if (wide < 6) return;
                            timeline.show(u.posToVal(left, "x"), u.posToVal(left + wide, "x"));
                            u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
                        },
                    ],
                    setCursor: [
                        (u) => {
                            const { left } = u.cursor;
                            timeline.point(left !== undefined && left !== null && left >= 0 ? u.posToVal(left, "x") : null);
                        },
                    ],
                },
            },
            this.data,
            this.box,
        );
        this.listenTo(this.chart);
    }

    private moveCursor(): void {
        const u = this.chart;
        if (!u) return;
        const { hover } = this.timeline;
        const left = hover === null ? -10 : u.valToPos(hover, "x");
        if (Math.abs((u.cursor.left ?? -10) - left) > 0.5) u.setCursor({ left, top: hover === null ? -10 : 0 }, false);
    }

    private drawMoment(u: uPlot): void {
        const { moment } = this.timeline;
        if (moment === null || !this.timeline.isPinned) return;
        const x = Math.round(u.valToPos(moment, "x", true));
        if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) return;
        u.ctx.save();
        u.ctx.strokeStyle = colour("--accent");
        u.ctx.lineWidth = 2 * devicePixelRatio;
        u.ctx.beginPath();
        u.ctx.moveTo(x, u.bbox.top - 8 * devicePixelRatio);
        u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
        u.ctx.stroke();
        u.ctx.restore();
    }

    private listenTo(u: uPlot): void {
        const { over } = u;
        const { timeline } = this;
        const timeAt = (clientX: number) => u.posToVal(clientX - over.getBoundingClientRect().left, "x");
        let pressed: { x: number; y: number; from: number; to: number; pan: boolean } | null = null;
        const touches = new Map<number, number>();

        over.addEventListener("pointerdown", (event) => {
            const { from, to } = timeline.span;
            if (event.pointerType === "touch") touches.set(event.pointerId, event.clientX);
            pressed = { x: event.clientX, y: event.clientY, from, to, pan: event.shiftKey && event.pointerType !== "touch" };
            if (pressed.pan) over.setPointerCapture(event.pointerId);
        });
        over.addEventListener("pointermove", (event) => {
            if (event.pointerType === "touch" && touches.has(event.pointerId)) {
                const others = [...touches.entries()].filter(([id]) => id !== event.pointerId);
                const other = others[0]?.[1];
                const before = touches.get(event.pointerId) ?? event.clientX;
                touches.set(event.pointerId, event.clientX);
                if (other === undefined && timeline.view.kind === "span" && pressed) {
                    timeline.pan(((before - event.clientX) / over.clientWidth) * (timeline.span.to - timeline.span.from));
                } else if (other === undefined) {
                    timeline.point(timeAt(event.clientX));
                } else {
                    const was = Math.abs(before - other);
                    const is = Math.abs(event.clientX - other);
                    if (was > 8 && is > 8) timeline.zoom(timeAt((event.clientX + other) / 2), was / is);
                    pressed = null;
                }
                return;
            }
            if (!pressed?.pan) return;
            const perPixel = (pressed.to - pressed.from) / over.clientWidth;
            const shift = (pressed.x - event.clientX) * perPixel;
            timeline.show(pressed.from + shift, pressed.to + shift);
        });
        const release = (event: PointerEvent, done: boolean) => {
            touches.delete(event.pointerId);
            const still = pressed && !pressed.pan && Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) < 5;
            pressed = null;
            if (done && still && event.button === 0) timeline.pin(timeAt(event.clientX));
        };
        over.addEventListener("pointerup", (event) => release(event, true));
        over.addEventListener("pointercancel", (event) => release(event, false));
        over.addEventListener(
            "wheel",
            (event) => {
                // A plain wheel scrolls the page, unless the plot was chosen by a click or with Tab.
                const chosen = event.ctrlKey || event.metaKey || document.activeElement === this.element;
                if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
                    event.preventDefault();
                    timeline.pan((event.deltaX / over.clientWidth) * (timeline.span.to - timeline.span.from));
                } else if (chosen) {
                    event.preventDefault();
                    timeline.zoom(timeAt(event.clientX), Math.exp(Math.max(-1, Math.min(1, event.deltaY / 400))));
                }
            },
            { passive: false },
        );
        over.addEventListener("pointerleave", (event) => {
            if (event.pointerType !== "touch") timeline.point(null);
        });
    }

    private key(event: KeyboardEvent): void {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        const { timeline } = this;
        const { from, to } = timeline.span;
        const step = (to - from) / 100;
        const at = timeline.hover ?? timeline.moment ?? timeline.last;
        if (event.key === "Enter") timeline.pin(at);
        else if (event.key === "ArrowLeft" && !event.shiftKey) timeline.point(Math.max(from, at - step));
        else if (event.key === "ArrowRight" && !event.shiftKey) timeline.point(Math.min(timeline.last, at + step));
        else return;
        event.preventDefault();
    }
}

function clipped(u: uPlot, draw: () => void): void {
    const { left, top, width, height } = u.bbox;
    u.ctx.save();
    u.ctx.beginPath();
    // Marks are above the plot. The marks at its first and last moment reach beyond its sides.
    const ratio = devicePixelRatio;
    u.ctx.rect(left - 7 * ratio, top - 12 * ratio, width + 14 * ratio, height + 12 * ratio);
    u.ctx.clip();
    u.ctx.setLineDash([]);
    draw();
    u.ctx.restore();
}

/** One entry of the legend: its mark, its name, and its value at the cursor. */
export class LegendEntry {
    readonly element: HTMLElement;
    private readonly number: HTMLElement;
    constructor(label: string, mark: HTMLElement, hint = "") {
        this.number = h("span", { class: "legend-value" });
        this.element = h("span", { class: "legend-entry", title: hint || null }, mark, h("bdi", { class: "legend-label" }, label), this.number);
    }
    set(value: number | null, text = value === null ? "\u2013" : size(value)): void {
        setText(this.number, text);
    }
}

export function timeReadout(timeline: Timeline): HTMLElement {
    const element = h("span", { class: "readout" });
    const update = () => {
        const at = timeline.hover ?? timeline.moment;
        setText(element, at === null ? "latest" : clock(Math.min(at, timeline.span.to)));
    };
    timeline.listen((change) => change !== "view" && update());
    update();
    return element;
}
