// A flame graph on a canvas: outermost frames at the top. A click shows one frame and what it called.
import type { Site } from "../data/types.ts";
import { boxAt, flameTree, layout, type Box, type Node } from "../model/flame.ts";
import { name } from "../text/printable.ts";
import { change, percent, size } from "../text/units.ts";
import { h, setText } from "./dom.ts";
import { colour, onTheme } from "./theme.ts";

const rowHeight = 20;
const tallest = 640;

export class FlameGraph {
    readonly element: HTMLElement;
    private readonly canvas: HTMLCanvasElement;
    private readonly readout: HTMLElement;
    private readonly reset: HTMLButtonElement;
    private root: Node | null = null;
    private focus: Node | null = null;
    private boxes: Box[] = [];
    private hovered: Box | null = null;
    private differs = false;

    constructor() {
        this.canvas = h("canvas", { class: "flame", role: "img", "aria-label": "Flame graph of growth. The table has the same data." });
        this.readout = h("p", { class: "flame-readout" });
        this.reset = h("button", { type: "button", hidden: true, click: () => this.show_(null) }, "Show all");
        this.element = h("div", { class: "flame-box" }, h("div", { class: "flame-head" }, this.readout, this.reset), h("div", { class: "flame-scroll" }, this.canvas));
        new ResizeObserver(() => this.draw()).observe(this.element);
        onTheme(() => this.draw());
        this.canvas.addEventListener("pointermove", (event) => this.point(this.at(event)));
        this.canvas.addEventListener("pointerleave", () => this.point(null));
        this.canvas.addEventListener("click", (event) => this.show_(this.at(event)?.node ?? null));
    }

    show(sites: readonly Site[], before: readonly Site[] | null): void {
        this.root = flameTree(sites, before ?? []);
        this.differs = before !== null;
        this.focus = null;
        this.draw();
    }

    private show_(node: Node | null): void {
        this.focus = node === this.root ? null : node;
        this.draw();
    }

    private at(event: MouseEvent): Box | null {
        const place = this.canvas.getBoundingClientRect();
        return boxAt(this.boxes, (event.clientX - place.left) / place.width, Math.floor((event.clientY - place.top) / rowHeight));
    }

    private point(box: Box | null): void {
        if (box === this.hovered) return;
        this.hovered = box;
        this.paint();
    }

    private draw(): void {
        const width = this.element.clientWidth;
        const shown = this.focus ?? this.root;
        if (!shown || width <= 0) return;
        this.reset.hidden = !this.focus;
        this.boxes = layout(shown, 1 / width);
        const depth = this.boxes.reduce((most, box) => Math.max(most, box.depth), 0) + 1;
        const height = depth * rowHeight;
        const ratio = Math.min(devicePixelRatio || 1, 16000 / height);
        this.canvas.width = Math.round(width * ratio);
        this.canvas.height = Math.round(height * ratio);
        this.canvas.style.width = `${width}px`;
        this.canvas.style.height = `${height}px`;
        (this.canvas.parentElement as HTMLElement).style.maxHeight = `${tallest}px`;
        this.hovered = null;
        this.paint();
    }

    private paint(): void {
        const ctx = this.canvas.getContext("2d");
        const shown = this.focus ?? this.root;
        if (!ctx || !shown) return;
        const ratio = this.canvas.width / Math.max(1, this.element.clientWidth);
        const width = this.canvas.width / ratio;
        ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
        ctx.clearRect(0, 0, width, this.canvas.height / ratio);
        ctx.font = "12px ui-monospace, monospace";
        ctx.textBaseline = "middle";
        for (const box of this.boxes) {
            const x = box.left * width;
            const wide = Math.max(0.5, box.width * width - 1);
            const y = box.depth * rowHeight;
            ctx.fillStyle = this.fillOf(box.node);
            ctx.fillRect(x, y, wide, rowHeight - 1);
            if (box === this.hovered) {
                ctx.strokeStyle = colour("--ink");
                ctx.lineWidth = 1.5;
                ctx.strokeRect(x + 0.75, y + 0.75, wide - 1.5, rowHeight - 2.5);
            }
            if (wide < 34) continue;
            ctx.fillStyle = colour("--flame-ink");
            const room = Math.floor((wide - 8) / 7.3);
            const text = box.node.kind === "root" ? `all ${size(box.node.bytes)}` : box.node.text;
            // The user's own lines are bold, so that they can be recognized without colour.
            ctx.font = `${box.node.kind === "own" ? "600 " : ""}12px ui-monospace, monospace`;
            ctx.fillText(name(text, Math.max(2, room)), x + 4, y + rowHeight / 2);
        }
        const { hovered } = this;
        const node = hovered?.node ?? shown;
        const whole = this.root?.bytes ?? 0;
        setText(
            this.readout,
            `${node.kind === "root" ? "all stacks" : name(node.text, 160)}: ${size(node.bytes)}${whole > 0 ? `, ${percent(node.bytes / whole)}` : ""}` +
                `${this.differs ? `, ${change(node.bytes - node.before)} since the other time` : ""}${node.kind === "own" ? ", own code" : node.kind === "library" ? ", library" : node.kind === "native" ? ", native" : ""}`,
        );
    }

    private fillOf(node: Node): string {
        if (this.differs && node.kind !== "root") {
            const moved = node.bytes - node.before;
            if (Math.abs(moved) < 0.02 * Math.max(node.bytes, 1)) return colour("--flame-same");
            return colour(moved > 0 ? "--flame-grew" : "--flame-shrank");
        }
        return colour(`--flame-${node.kind}`);
    }
}
