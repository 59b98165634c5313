// What grew, by line of the user's own code: a table or a flame graph, of one moment or between two.
import { Latest } from "../data/latest.ts";
import type { Source } from "../data/source.ts";
import { planes, type Growth, type Plane, type Run, type Site } from "../data/types.ts";
import { callers, changedLines, framesOf, ownLines, type ChangedLine, type OwnLine } from "../model/own_lines.ts";
import { roleText } from "../model/tree.ts";
import { name, pathEnd, printable } from "../text/printable.ts";
import { clock, dayAndClock } from "../text/times.ts";
import { change, count, duration, percent, size } from "../text/units.ts";
import { h, replace, scrolling, section, setText, table, type Child, type Column } from "./dom.ts";
import { FlameGraph } from "./flamegraph.ts";
import { prose } from "./prose.ts";
import type { Timeline } from "../model/timeline.ts";

const words: Record<Plane, { title: string; meaning: string }> = {
    tensors_host: { title: "Host tensors", meaning: "Storages of PyTorch's tensors in host memory, allocated here and not freed since. This plane knows the owner." },
    mapped: { title: "Mapped", meaning: "Mapped here and not unmapped since, touched or not. Small objects appear where their allocator mapped more memory." },
    resident: { title: "Resident", meaning: "By the line that touched the memory first. An allocator may have handed it out again since, so this line need not be the owner." },
    gpu: { title: "GPU", meaning: "Allocated here from the CUDA driver and not freed since, with the cache of a caching allocator." },
    pinned: { title: "Pinned", meaning: "Host memory that was pinned here through the CUDA driver and not unpinned since." },
};
const mostRows = 12;

interface Answer {
    now: Growth | null;
    before: Growth | null;
}

export class GrowthView {
    readonly element: HTMLElement;
    private readonly when = h("span", { class: "when" });
    private readonly sentence = h("p", { class: "lead" });
    private readonly tabs = h("div", { class: "tabs", role: "group", "aria-label": "Plane" });
    private readonly note = h("p", { class: "note" });
    private readonly body = h("div", {});
    private readonly since: HTMLSelectElement;
    private readonly compare: HTMLSelectElement;
    private readonly mode: HTMLButtonElement;
    private readonly flame = new FlameGraph();
    private readonly request: Latest<Answer>;
    private answer: Answer | null = null;
    private plane: Plane | null = null;
    private asFlame = false;
    private times = "";
    private open = new Set<string>();

    constructor(
        private readonly source: Source,
        private readonly run: Run,
        private readonly timeline: Timeline,
        heard: (growth: Growth | null) => void,
    ) {
        const option = (value: string, text: string) => h("option", { value }, text);
        this.since = h(
            "select",
            { "aria-label": "Growth since", change: () => this.ask() },
            option("warmup", "since the warm-up"),
            option("10m", "of the last 10 minutes"),
            option("start", "since watching began"),
        );
        this.compare = h("select", { "aria-label": "Compare with", change: () => this.ask() });
        this.mode = h("button", { type: "button", title: "g", click: () => this.toggleFlame() }, "Flame graph");
        this.element = section("growth", "What grew?", this.when);
        this.element.append(
            this.sentence,
            h("div", { class: "tools" }, this.tabs, source.asks ? h("label", {}, h("span", { class: "hidden" }, "Growth "), this.since) : null, h("label", {}, "compare with ", this.compare), this.mode),
            this.note,
            this.body,
        );
        this.request = new Latest(
            (signal) => this.fetch(signal),
            (answer) => {
                this.answer = answer;
                this.draw();
                if (!answer.before) heard(answer.now);
            },
            (error) => {
                if (error instanceof DOMException && error.name === "AbortError") return;
                replace(this.body, h("p", { class: "absent" }, error instanceof Error ? error.message : "No growth could be read."));
            },
            200,
        );
        this.writeTimes();
    }

    ask(): void {
        this.writeTimes();
        this.request.soon();
    }

    toggleFlame(): void {
        this.asFlame = !this.asFlame;
        this.draw();
    }

    private async fetch(signal: AbortSignal): Promise<Answer> {
        const { moment: chosen } = this.timeline;
        // Growth that is recorded at a tick covers the time since the tick before. Growth until a death has the time of the
        // death. The record after it is about the processes that still live.
        const isDeath = this.run.summary.deaths?.some((death) => death.time === chosen);
        const moment = chosen === null ? null : chosen + (isDeath ? 0 : this.run.interval);
        const other = this.compare.value ? Number(this.compare.value) : null;
        if (other === null) return { now: await this.source.growth(moment, this.since.value, signal), before: null };
        // Two growths can be subtracted only if both begin at the same time.
        const [now, before] = await Promise.all([this.source.growth(moment, "start", signal), this.source.growth(other, "start", signal)]);
        return { now, before };
    }

    private writeTimes(): void {
        const { growth_times: all } = this.run;
        const step = Math.max(1, Math.ceil(all.length / 60));
        const shown = all.filter((_, i) => i % step === 0 || i === all.length - 1);
        const key = shown.join(" ");
        if (key === this.times && this.compare.options.length > 0) return;
        this.times = key;
        const chosen = this.compare.value;
        replace(this.compare, h("option", { value: "" }, "no other time"), ...shown.map((time) => h("option", { value: time }, dayAndClock(time))));
        if ([...this.compare.options].some((option) => option.value === chosen)) this.compare.value = chosen;
        this.compare.disabled = shown.length === 0;
    }

    private draw(): void {
        const { answer } = this;
        setText(this.mode, this.asFlame ? "Table" : "Flame graph");
        if (!answer) return;
        const { now, before } = answer;
        this.since.disabled = before !== null;
        if (!now) {
            const first = this.run.growth_times[0];
            setText(this.when, "");
            this.sentence.replaceChildren();
            this.tabs.replaceChildren();
            setText(this.note, "");
            replace(this.body, h("p", { class: "absent" }, first === undefined ? "No growth was recorded: the watcher ran without it, or not long enough." : `No growth was recorded at or before this moment. The first record is of ${clock(first)}.`));
            return;
        }
        setText(
            this.when,
            before
                ? `from ${dayAndClock(before.time)} to ${dayAndClock(now.time)}`
                : `at ${dayAndClock(now.time)}${typeof now.since_seconds === "number" ? `, since ${duration(now.since_seconds)} before` : ", since watching began"}`,
        );
        replace(this.sentence, now.sentence ? prose(now.sentence) : "");
        const there = planes.filter((plane) => (now[plane]?.length ?? 0) > 0 || (before?.[plane]?.length ?? 0) > 0);
        if (there.length === 0) {
            this.tabs.replaceChildren();
            setText(this.note, "");
            return replace(this.body, h("p", { class: "absent" }, "Nothing grew in this time."));
        }
        const owner = now.owner?.plane;
        const chosen = this.plane && there.includes(this.plane) ? this.plane : (there.find((plane) => plane === owner) ?? (there.includes("resident") ? "resident" : (there[0] as Plane)));
        replace(
            this.tabs,
            ...there.map((plane) => {
                const sum = (now[plane] ?? []).reduce((bytes, site) => bytes + site.bytes, 0);
                return h("button", { type: "button", "aria-pressed": String(plane === chosen), click: () => ((this.plane = plane), this.draw()) }, words[plane].title, h("span", { class: "tab-size" }, size(sum)));
            }),
        );
        setText(this.note, words[chosen].meaning);
        const sites = now[chosen] ?? [];
        const old = before ? (before[chosen] ?? []) : null;
        const focused = document.activeElement instanceof HTMLElement && this.body.contains(document.activeElement);
        if (focused && !this.asFlame && this.body.querySelector("table")) return;  // not while the user uses the table
        if (this.asFlame) {
            replace(this.body, this.flame.element, this.rest(now, chosen));
            this.flame.show(sites, old);
        } else {
            replace(this.body, old ? this.changes(old, sites) : this.lines(sites), this.rest(now, chosen));
        }
    }

    private lineCell(row: OwnLine): HTMLElement {
        const stack = h("ol", { class: "stack" });
        const details = h(
            "details",
            {},
            h("summary", {}, h("bdi", { class: row.isOwn ? "line own" : "line" }, name(row.line, 100)), row.stacks > 1 ? h("span", { class: "muted" }, ` ${count(row.stacks)} stacks`) : null),
            h("p", { class: "file" }, h("bdi", {}, pathEnd(row.file, 90))),
            stack,
        );
        if (this.open.has(row.key)) details.open = true;
        const fill = () => {
            if (details.open && stack.childElementCount === 0)
                stack.append(...framesOf(row.largest).slice(0, 200).map((frame) => h("li", { class: `frame-${frame.kind}` }, h("bdi", {}, name(frame.text, 160)))));
        };
        fill();
        details.addEventListener("toggle", () => {
            if (details.open) this.open.add(row.key);
            else this.open.delete(row.key);
            fill();
        });
        const from = callers(row.largest);
        return h("div", {}, details, from.length > 0 ? h("p", { class: "callers" }, "from ", h("bdi", {}, printable(from.slice(0, 12).join(" \u2039 ")).slice(0, 400))) : null);
    }

    private columns<Row extends OwnLine>(): Column<Row>[] {
        return [
            { title: "Line, and what called it", head: true, className: "line-cell", cell: (row) => this.lineCell(row) },
            { title: "Role", className: "role", cell: (row) => roleText(row.role, row.rank) },
            { title: "Processes", numeric: true, className: "wide", cell: (row) => count(row.pids.length) },
        ];
    }

    private lines(sites: readonly Site[]): Child {
        const rows = ownLines(sites);
        const sum = rows.reduce((bytes, row) => bytes + row.bytes, 0);
        const columns: Column<OwnLine>[] = [
            { title: "Bytes", numeric: true, cell: (row) => size(row.bytes) },
            { title: "Share", numeric: true, cell: (row) => shareCell(sum > 0 ? row.bytes / sum : 0) },
            ...this.columns<OwnLine>(),
        ];
        return this.bounded(rows, (shown) => table("Growth by line, largest first", columns, shown));
    }

    private changes(before: readonly Site[], now: readonly Site[]): Child {
        const rows = changedLines(before, now);
        if (rows.length === 0) return h("p", { class: "absent" }, "Nothing changed between the two times.");
        const columns: Column<ChangedLine>[] = [
            { title: "Change", numeric: true, cell: (row) => h("span", { class: row.change > 0 ? "grew" : "shrank" }, change(row.change)) },
            { title: "Before", numeric: true, className: "wide", cell: (row) => size(row.before) },
            { title: "After", numeric: true, cell: (row) => size(row.bytes) },
            ...this.columns<ChangedLine>(),
        ];
        return this.bounded(rows, (shown) => table("Change of growth by line between two times, largest change first", columns, shown));
    }

    private bounded<Row>(rows: readonly Row[], draw: (rows: readonly Row[]) => HTMLElement): Child {
        const more = rows.length - mostRows;
        const box = h("div", {}, scrolling("Growth by line", draw(rows.slice(0, mostRows))));
        if (more > 0)
            box.append(h("button", { type: "button", click: () => replace(box, scrolling("Growth by line", draw(rows.slice(0, 500)))) }, `Show ${count(Math.min(more, 500 - mostRows))} more lines`));
        return box;
    }

    private rest(growth: Growth, plane: Plane): Child {
        const parts = (growth.unattributed ?? []).filter((part) => part.plane === plane && part.bytes !== 0);
        const left = growth.left_out?.[plane];
        const texts = parts.map((part) => `${change(part.bytes)} ${reasonText(part.reason)}`);
        if (left && left.sites > 0) texts.push(`${size(left.bytes)} at ${count(left.sites)} smaller call sites`);
        return texts.length > 0 ? h("p", { class: "note" }, `Not in the list: ${texts.join("; ")}.`) : null;
    }
}

const reasons: Record<string, string> = {
    external: "changed by the kernel or another process",
    exited: "freed at the end of processes",
    other: "at more different stacks than can be recorded",
    unknown_stack: "at stacks whose names were lost",
    pending: "at stacks that are still being read",
    paused: "while the hook was paused, because it cost too much",
    no_address: "without a known address: populated by mmap or mlock, or by the kernel",
    before: "from before watching began, freed since, or sampling error",
    freed_since: "freed since then",
    small_before: "at call sites that were too small to be stored at that time",
    smaller_sites: "at smaller call sites",
    below_step: "less than 512 KiB in a process, or not counted yet",
    lost: "mapped while events were lost",
    no_room: "in more allocations than can be recorded",
    too_many_ranges: "in address spaces with too many ranges",
};
function reasonText(reason: string): string {
    return (Object.prototype.hasOwnProperty.call(reasons, reason) && reasons[reason]) || name(reason, 60);
}

export function shareCell(share: number): HTMLElement {
    const bar = h("i", { class: "bar", "aria-hidden": "true" });
    bar.style.width = `${Math.round(Math.min(1, Math.max(0, share)) * 100)}%`;
    return h("span", { class: "with-bar" }, h("i", { class: "bar-back", "aria-hidden": "true" }, bar), h("span", {}, percent(share)));
}
