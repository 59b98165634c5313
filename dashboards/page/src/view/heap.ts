// The heap of the largest processes: live or free memory, and the containers that hold it.
import { Latest } from "../data/latest.ts";
import type { Source } from "../data/source.ts";
import type { Counted, Heap, HeapProcess, HeldObjects, Holder, Run, Tick } from "../data/types.ts";
import type { Timeline } from "../model/timeline.ts";
import { roleText } from "../model/tree.ts";
import { name } from "../text/printable.ts";
import { clock, dayAndClock } from "../text/times.ts";
import { change, count, countChange, duration, percent, size } from "../text/units.ts";
import { h, nameOf, replace, scrolling, section, setText, table, type Child, type Column } from "./dom.ts";
import { prose } from "./prose.ts";

const partWords: Record<string, string> = {
    malloc_live: "live in malloc",
    malloc_free: "freed, kept by malloc",
    python_live: "live Python objects",
    python_free: "freed, kept by Python",
    mapped: "large mappings",
    stacks: "stacks of threads",
    other: "other",
};
const partOrder = ["malloc_live", "python_live", "mapped", "stacks", "other", "malloc_free", "python_free"];
const mostRows = 12;

type Tab = "holders" | "types" | "tensors" | "arrays";
const tabWords: Record<Tab, string> = { holders: "Holders", types: "Objects", tensors: "Tensors", arrays: "Arrays" };

export class HeapView {
    readonly element: HTMLElement;
    private readonly when = h("span", { class: "when" });
    private readonly body = h("div", {});
    private readonly request: Latest<Heap | null>;
    private readonly take = h("button", { type: "button", class: "push", title: "memscope reads the heaps of the largest processes. It does not stop them.", click: () => void this.takeNow() }, "Take a census now");
    private heap: Heap | null = null;
    private taken = false;
    private summaries = new Map<number, HeldObjects>();
    private chosen: number | null = null;
    private tab: Tab = "holders";

    constructor(
        private readonly source: Source,
        private readonly run: Run,
        timeline: Timeline,
    ) {
        this.element = section("heap", "Which container holds it?", this.when, run.mode === "live" && this.take);
        this.element.append(this.body);
        this.request = new Latest(
            (signal) => source.heap(timeline.moment, signal),
            (heap) => {
                // A census that the user has requested stays until a census with objects follows, or until the user chooses
                // another moment.
                if (this.taken && timeline.moment === null && !heap?.processes.some((each) => each.types?.length)) return;
                this.taken = false;
                this.heap = heap;
                this.draw();
            },
            (error) => {
                if (error instanceof DOMException && error.name === "AbortError") return;
                replace(this.body, h("p", { class: "absent" }, error instanceof Error ? error.message : "No census could be read."));
            },
            250,
        );
    }

    /** The summary of the last census of objects. A tick has it even if its census has only the parts. */
    update(tick: Tick | null): void {
        const known = this.summaries;
        this.summaries = new Map();
        for (const process of tick?.heap ?? []) if (typeof process.objects === "object" && process.objects) this.summaries.set(process.pid, process.objects);
        const times = (all: Map<number, HeldObjects>) => [...all].map(([pid, each]) => `${pid} ${each.time}`).join();
        if (times(known) !== times(this.summaries)) this.draw();
    }

    ask(): void {
        this.request.soon();
    }

    private async takeNow(): Promise<void> {
        this.take.disabled = true;
        setText(this.take, "Reading the heaps\u2026");
        try {
            this.heap = await this.source.takeCensus();
            this.taken = true;
            this.draw();
        } catch (error) {
            replace(this.body, h("p", { class: "absent" }, error instanceof Error ? error.message : "No census could be taken."));
        }
        this.take.disabled = false;
        setText(this.take, "Take a census now");
    }

    private draw(): void {
        const { heap } = this;
        if (!heap || heap.processes.length === 0) {
            const first = this.run.heap_times[0];
            setText(this.when, "");
            replace(
                this.body,
                h(
                    "p",
                    { class: "absent" },
                    first === undefined
                        ? "No census was taken. memscope takes one after the warm-up, when it finds a leak, and when a precursor becomes active."
                        : `No census was taken at or before this moment. The first one is of ${clock(first)}.`,
                ),
            );
            return;
        }
        const { processes } = heap;
        const process = processes.find((each) => each.pid === this.chosen) ?? (processes[0] as HeapProcess);
        setText(this.when, `${typeof heap.time === "number" ? `census of ${dayAndClock(heap.time)}` : "last census"}${typeof heap.since_seconds === "number" ? `, changes since ${duration(heap.since_seconds)} before` : ""}`);
        const choose =
            processes.length > 1 &&
            h(
                "div",
                { class: "tabs", role: "group", "aria-label": "Process" },
                ...processes.map((each) =>
                    h(
                        "button",
                        { type: "button", "aria-pressed": String(each === process), click: () => ((this.chosen = each.pid), this.draw()) },
                        `${roleText(each.role, each.rank)}, pid ${each.pid}`,
                        typeof each.anon_bytes === "number" && h("span", { class: "tab-size" }, size(each.anon_bytes)),
                    ),
                ),
            );
        const held = this.summaries.get(process.pid);
        const whole: HeapProcess = process.holders?.length || !held?.holders?.length ? process : { ...process, holders: held.holders };
        replace(this.body, choose, held?.sentence ? h("p", { class: "lead" }, prose(held.sentence)) : null, this.lead(whole), partsBar(whole), this.tables(whole, whole === process ? null : held));
    }

    private lead(process: HeapProcess): HTMLElement {
        const { allocator, python } = process;
        const parts = [
            `${roleText(process.role, process.rank)}, pid ${process.pid}`,
            typeof process.anon_bytes === "number" ? `${size(process.anon_bytes)} of anonymous memory` : null,
            python ? `Python ${name(python, 20)}` : null,
            allocator ? `${name(allocator.name, 30)}${allocator.version ? ` ${name(allocator.version, 20)}` : ""}` : null,
            typeof allocator?.trimmable_bytes === "number" ? `malloc_trim(0) would return ${size(allocator.trimmable_bytes)}` : null,
            typeof process.inherited_bytes === "number" && process.inherited_bytes > 0 ? `${size(process.inherited_bytes)} of objects are inherited` : null,
        ];
        const gaps = Object.entries(process.incomplete ?? {});
        return h(
            "div",
            {},
            h("p", { class: "facts" }, parts.filter(Boolean).join(" \u00b7 ")),
            gaps.length > 0 && h("p", { class: "note" }, `The census is incomplete: ${gaps.map(([gap, times]) => `${name(gap, 40).replace(/_/g, " ")} (${count(times)})`).join(", ")}.`),
        );
    }

    /** `held`: the source of the holders, if it is not the census itself. */
    private tables(process: HeapProcess, held: HeldObjects | null | undefined): Child {
        const lists: Record<Tab, number> = {
            holders: process.holders?.length ?? 0,
            types: process.types?.length ?? 0,
            tensors: process.tensors?.length ?? 0,
            arrays: process.arrays?.length ?? 0,
        };
        const there = (Object.keys(lists) as Tab[]).filter((tab) => lists[tab] > 0);
        if (there.length === 0)
            return h(
                "p",
                { class: "absent" },
                process.refused ? `The objects of this Python cannot be read: ${name(process.refused, 60).replace(/_/g, " ")}.` : process.python ? "The objects of this process were not read." : "This process has no Python, so nothing is known of its objects.",
            );
        const chosen = there.includes(this.tab) ? this.tab : (there[0] as Tab);
        const tabs = h(
            "div",
            { class: "tabs", role: "group", "aria-label": "List" },
            ...there.map((tab) => h("button", { type: "button", "aria-pressed": String(tab === chosen), click: () => ((this.tab = tab), this.draw()) }, tabWords[tab])),
        );
        const from = held && typeof held.time === "number" ? h("p", { class: "note" }, `Holders: census of objects of ${dayAndClock(held.time)}${typeof held.since_seconds === "number" ? `, changes since ${duration(held.since_seconds)} before` : ""}.`) : null;
        return h("div", {}, tabs, from, scrolling(tabWords[chosen], this.list(process, chosen)));
    }

    private list(process: HeapProcess, tab: Tab): HTMLElement {
        switch (tab) {
            case "holders":
                return table("Containers of Python, and what they keep alive", holderColumns(process.holders ?? []), (process.holders ?? []).slice(0, mostRows));
            case "types":
                return table("Objects by type", [{ title: "Type", head: true, cell: (row) => nameOf(row.type, 70, "line") }, ...counted<Counted & { type: string }>()], (process.types ?? []).slice(0, mostRows));
            case "tensors":
                return table(
                    "Tensors by device, type and shape",
                    [
                        { title: "Device", cell: (row) => nameOf(row.device, 20) },
                        { title: "Type and shape", head: true, cell: (row) => h("span", { class: "line" }, `${name(row.dtype, 30)} ${shape(row.shape)}${row.only_native ? ", held by C++" : ""}`) },
                        ...counted<NonNullable<HeapProcess["tensors"]>[number]>(),
                    ],
                    (process.tensors ?? []).slice(0, mostRows),
                );
            case "arrays":
                return table(
                    "Arrays of numpy by type and shape",
                    [{ title: "Type and shape", head: true, cell: (row) => h("span", { class: "line" }, `${name(row.dtype, 30)} ${shape(row.shape)}`) }, ...counted<NonNullable<HeapProcess["arrays"]>[number]>()],
                    (process.arrays ?? []).slice(0, mostRows),
                );
        }
    }
}

function shape(sizes: readonly number[]): string {
    return `[${sizes.slice(0, 12).join(", ")}${sizes.length > 12 ? ", \u2026" : ""}]`;
}

function changeCell(bytes: number | null | undefined, text: (value: number) => string): Child {
    if (typeof bytes !== "number") return h("span", { class: "muted", title: "not known" }, "?");
    return h("span", { class: bytes > 0 ? "grew" : bytes < 0 ? "shrank" : "muted" }, text(bytes));
}

function counted<Row extends Counted>(): Column<Row>[] {
    return [
        { title: "Bytes", numeric: true, cell: (row) => size(row.bytes) },
        { title: "Change", numeric: true, cell: (row) => changeCell(row.bytes_change, change) },
        { title: "Number", numeric: true, cell: (row) => count(row.count) },
        { title: "Change", numeric: true, className: "wide", cell: (row) => changeCell(row.count_change, countChange) },
    ];
}

function holderColumns(holders: readonly Holder[]): Column<Holder>[] {
    const device = holders.some((row) => (row.retained_device_bytes ?? 0) > 0);
    const known = (value: number | null | undefined) => (typeof value === "number" ? size(value) : "\u2013");
    return [
        { title: "Holder", head: true, className: "line-cell", cell: (row) => nameOf(row.path, 110, "line") },
        { title: "Type", cell: (row) => name(row.element ? `${row.type} of ${row.element}` : row.type, 50) },
        { title: "Items", numeric: true, cell: (row) => (typeof row.length === "number" ? count(row.length) : "\u2013") },
        { title: "Change", numeric: true, className: "wide", cell: (row) => changeCell(row.length_change, countChange) },
        { title: "Keeps alive", numeric: true, cell: (row) => known(row.retained_bytes) },
        { title: "Change", numeric: true, cell: (row) => changeCell(row.retained_change, change) },
        ...(device ? [{ title: "On GPUs", numeric: true, cell: (row: Holder) => known(row.retained_device_bytes) }] : []),
    ];
}

function partsBar(process: HeapProcess): HTMLElement {
    const parts = partOrder.flatMap((id) => process.parts.filter((part) => part.part === id && part.bytes > 0));
    const sum = parts.reduce((bytes, part) => bytes + part.bytes, 0);
    if (sum === 0) return h("p", { class: "absent" }, "The parts of this heap are not known.");
    const label = (part: string) => partWords[part] ?? name(part, 30);
    const bar = h("div", { class: "parts", role: "img", "aria-label": parts.map((part) => `${label(part.part)} ${size(part.bytes)}`).join(", ") });
    for (const part of parts) {
        const piece = h("i", { class: `part part-${partOrder.indexOf(part.part)}`, title: `${label(part.part)} ${size(part.bytes)}` });
        piece.style.flexGrow = String(part.bytes / sum);
        if (part.bytes / sum > 0.12) piece.append(h("span", {}, label(part.part)));
        bar.append(piece);
    }
    return h(
        "div",
        {},
        bar,
        h(
            "ul",
            { class: "parts-list" },
            ...parts.map((part) =>
                h(
                    "li",
                    {},
                    h("i", { class: `key part part-${partOrder.indexOf(part.part)}`, "aria-hidden": "true" }),
                    `${label(part.part)} `,
                    h("b", {}, size(part.bytes)),
                    ` ${percent(part.bytes / sum)} `,
                    typeof part.change_bytes === "number" && part.change_bytes !== 0 ? changeCell(part.change_bytes, change) : null,
                ),
            ),
        ),
    );
}
