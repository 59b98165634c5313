import type { Curves, Growth, Heap, Live, Run, Tick } from "./types.ts";

/** Where the data of the page comes from: a server, or the report itself. */
export interface Source {
    run(): Promise<Run>;
    curves(from: number | null, to: number | null, width: number, signal: AbortSignal): Promise<Curves>;
    /** The last tick at or before `at`; the latest one for null. */
    tick(at: number | null, signal: AbortSignal): Promise<Tick | null>;
    growth(at: number | null, since: string, signal: AbortSignal): Promise<Growth | null>;
    heap(at: number | null, signal: AbortSignal): Promise<Heap | null>;
    /** Asks the watcher for a census of the largest processes now. */
    takeCensus(): Promise<Heap | null>;
    live(after: number, signal: AbortSignal): Promise<Live>;
    /** False for a report, because it has data only for the moments that were stored when it was made. */
    readonly asks: boolean;
}

/** The last element of a list whose time is at or before `at`; null: the last element. The list is ordered by time. */
export function lastBefore<T>(list: readonly T[], time: (each: T) => number, at: number | null): T | null {
    let found: T | null = null;
    for (const each of list) {
        if (at !== null && time(each) > at) break;
        found = each;
    }
    return found;
}
