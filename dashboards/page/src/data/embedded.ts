import { lastBefore, type Source } from "./source.ts";
import type { Curves, Embedded, Growth, Heap, Live, Run, Tick } from "./types.ts";

/** The element of a report that holds its data; null in a page that a server sends. */
export function embeddedData(): Embedded | null {
    const text = document.getElementById("memscope-data")?.textContent;
    return text ? (JSON.parse(text) as Embedded) : null;
}

/** The curves of a report that cover the span. If there are several, the curves with the finest bins. */
export function finest(all: readonly Curves[], from: number, to: number): Curves | null {
    let best: Curves | null = null;
    for (const each of all) {
        const covers = each.from <= from + each.bin && each.to >= to - each.bin;
        if (covers && (!best || each.bin < best.bin)) best = each;
    }
    return best ?? all[0] ?? null;
}

export class Report implements Source {
    readonly asks = false;
    constructor(private readonly data: Embedded) {}

    run(): Promise<Run> {
        return Promise.resolve(this.data.run);
    }
    curves(from: number | null, to: number | null): Promise<Curves> {
        const { run } = this.data;
        const found = finest(this.data.curves, from ?? run.began, to ?? run.ended ?? run.began);
        return found ? Promise.resolve(found) : Promise.reject(new Error("This report has no curves."));
    }
    tick(at: number | null): Promise<Tick | null> {
        // Before the first tick the result is the first tick. That is no error, because the page shows the time of each tick.
        return Promise.resolve(lastBefore(this.data.ticks, (each) => each.time, at) ?? this.data.ticks[0] ?? null);
    }
    growth(at: number | null): Promise<Growth | null> {
        return Promise.resolve(lastBefore(this.data.growth, (each) => each.at, at)?.growth ?? null);
    }
    heap(at: number | null): Promise<Heap | null> {
        return Promise.resolve(lastBefore(this.data.heap, (each) => each.at, at)?.heap ?? null);
    }
    takeCensus(): Promise<Heap | null> {
        return Promise.reject(new Error("A report does not change."));
    }
    live(): Promise<Live> {
        return Promise.reject(new Error("A report does not change."));
    }
}
