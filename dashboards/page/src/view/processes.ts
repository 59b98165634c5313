// The process tree of one moment.
import type { Process, Tick } from "../data/types.ts";
import { ProcessHistory, type Point } from "../model/process_history.ts";
import { inheritedOf, ownOf, processRows, roleText, shortCommand, sumOf, type Row } from "../model/tree.ts";
import { detail, name } from "../text/printable.ts";
import { dayAndClock } from "../text/times.ts";
import { count, size } from "../text/units.ts";
import { h, replace, scrolling, section, setText, svg, table, type Child } from "./dom.ts";
import { prose } from "./prose.ts";

const mostRows = 150;

export class ProcessView {
    readonly element: HTMLElement;
    readonly history = new ProcessHistory();
    private readonly when: HTMLElement;
    private readonly body: HTMLElement;
    private readonly unfolded = new Set<string>();
    private readonly folded = new Set<string>();
    private tick: Tick | null = null;
    private all = false;

    constructor() {
        this.when = h("span", { class: "when" });
        this.body = h("div", {});
        this.element = section("processes", "Which process?", this.when);
        this.element.append(
            h("p", { class: "note" }, "Own: anonymous memory that the process holds for itself. Inherited: pages that it still shares with the process it was forked from; they are counted there."),
            this.body,
        );
    }

    update(tick: Tick | null): void {
        this.tick = tick;
        if (tick) this.history.add(tick);
        this.draw();
    }

    private draw(): void {
        const { tick } = this;
        setText(this.when, tick ? `at ${dayAndClock(tick.time)}, ${count(tick.processes.length)} ${tick.processes.length === 1 ? "process" : "processes"}` : "");
        if (!tick) return replace(this.body, h("p", { class: "absent" }, "No tick was recorded at this moment."));
        if (tick.processes.length === 0) return replace(this.body, h("p", { class: "absent" }, "The target had no process at this moment."));
        const focused = document.activeElement instanceof HTMLElement && this.body.contains(document.activeElement) ? (document.activeElement.dataset.key ?? null) : null;
        const rows = processRows(tick.processes, this.unfolded, this.folded);
        const shown = this.all ? rows : rows.slice(0, mostRows);
        const most = Math.max(1, ...rows.map((row) => sumOf(row.processes, ownOf) ?? 0));
        const gpu = new Map<number, number>();
        for (const use of tick.gpu?.processes ?? [])
            if (use.pid !== undefined && typeof use.used_bytes === "number") gpu.set(use.pid, (gpu.get(use.pid) ?? 0) + use.used_bytes);
        const bytes = (row: Row, read: (process: Process) => number | null): Child => {
            const value = sumOf(row.processes, read);
            return value === null ? "\u2013" : size(value);
        };
        const inherits = rows.some((row) => (sumOf(row.processes, inheritedOf) ?? 0) > 0);
        const columns = [
            { title: "Process", head: true, className: "process", cell: (row: Row) => this.processCell(row) },
            { title: "Own", numeric: true, cell: (row: Row) => ownCell(row, most) },
            { title: "Own, over time", className: "trend", cell: (row: Row) => this.sparkline(row) },
            ...(gpu.size > 0 ? [{ title: "GPU", numeric: true, cell: (row: Row) => bytes(row, (process) => gpu.get(process.pid) ?? null) }] : []),
            { title: "Role", cell: (row: Row) => roleText(row.first.role, row.first.rank) },
            ...(inherits ? [{ title: "Inherited", numeric: true, cell: (row: Row) => h("span", { class: "inherited" }, bytes(row, inheritedOf)) }] : []),
            { title: "pid", numeric: true, cell: (row: Row) => (row.kind === "group" ? `\u00d7${count(row.processes.length)}` : String(row.first.pid)) },
            { title: "Files", numeric: true, className: "wider", cell: (row: Row) => bytes(row, (process) => process.rss_file_bytes ?? null) },
            { title: "Shared", numeric: true, className: "wider", cell: (row: Row) => bytes(row, (process) => process.rss_shmem_bytes ?? null) },
        ];
        replace(
            this.body,
            tick.sharing?.explanation ? h("p", { class: "note" }, prose(tick.sharing.explanation)) : null,
            scrolling("Process tree", table("Process tree: parent, role and memory of each process", columns, shown, (row) => row.kind)),
            rows.length > shown.length &&
                h("button", { type: "button", click: () => ((this.all = true), this.draw()) }, `Show ${count(rows.length - shown.length)} more rows`),
        );
        if (focused !== null) this.body.querySelector<HTMLElement>(`[data-key="${CSS.escape(focused)}"]`)?.focus();
    }

    private processCell(row: Row): HTMLElement {
        const cell = h("span", { class: "tree" });
        cell.style.paddingInlineStart = `${Math.min(row.depth, 8) * 16}px`;
        if (row.open !== null) {
            const button = h(
                "button",
                { type: "button", class: "fold", "aria-expanded": String(row.open), "data-key": row.key, "aria-label": row.open ? "Fold" : "Unfold", click: () => this.toggle(row) },
                row.open ? "\u25be" : "\u25b8",
            );
            cell.append(button);
        } else cell.append(h("span", { class: "fold", "aria-hidden": "true" }));
        if (row.kind === "group") cell.append(`${roleText(row.first.role, row.first.rank)} \u00d7${count(row.processes.length)}`);
        else {
            const { command, comm } = row.first;
            cell.append(h("bdi", { class: "name", title: detail(command || comm) }, name(command ? shortCommand(command) : comm, 90)));
        }
        return cell;
    }

    private toggle(row: Row): void {
        const set = row.kind === "group" ? this.unfolded : this.folded;
        if (set.has(row.key)) set.delete(row.key);
        else set.add(row.key);
        this.draw();
    }

    private sparkline(row: Row): Child {
        const points = this.history.sum(row.processes);
        return points.length < 2 ? h("span", { class: "muted" }, "one tick") : sparkline(points);
    }
}

function ownCell(row: Row, most: number): HTMLElement {
    const own = sumOf(row.processes, ownOf);
    if (own === null) return h("span", { title: "Its memory could not be read, or it shares that of its parent." }, "\u2013");
    const bar = h("i", { class: "bar", "aria-hidden": "true" });
    bar.style.width = `${Math.max(own > 0 ? 2 : 0, Math.round((own / most) * 100))}%`;
    return h("span", { class: "with-bar" }, h("i", { class: "bar-back", "aria-hidden": "true" }, bar), h("span", {}, size(own)));
}

/** From its lowest to its highest value; a range of less than 5 % is drawn flat, as in the live view. */
export function sparkline(points: readonly Point[], width = 92, height = 22): SVGElement {
    const first = points[0] as Point;
    const last = points[points.length - 1] as Point;
    let low = Infinity;
    let high = -Infinity;
    for (const { bytes } of points) {
        low = Math.min(low, bytes);
        high = Math.max(high, bytes);
    }
    const flat = high - low < 0.05 * high;
    const x = (time: number) => 1 + ((time - first.time) / Math.max(1e-9, last.time - first.time)) * (width - 5);
    const y = (bytes: number) => (flat ? height / 2 : height - 3 - ((bytes - low) / (high - low)) * (height - 6));
    return svg(
        "svg",
        { class: "spark", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `from ${size(first.bytes)} to ${size(last.bytes)}` },
        svg("polyline", { points: points.map(({ time, bytes }) => `${x(time).toFixed(1)},${y(bytes).toFixed(1)}`).join(" ") }),
        svg("circle", { cx: x(last.time).toFixed(1), cy: y(last.bytes).toFixed(1), r: 2 }),
    );
}
