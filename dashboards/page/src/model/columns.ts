// Curves as columns that a plot can draw: one array of times, one array per series.
import type { Curves, LiveTick, Series } from "../data/types.ts";

export type Column = (number | null)[];

export function seriesOf(curves: Curves, id: string): Series | null {
    return curves.series.find((each) => each.id === id) ?? null;
}

export function groupOf(curves: Curves, group: string): Series[] {
    return curves.series.filter((each) => each.group === group);
}

/** The mean of a series. Without means: the highest values, otherwise the lowest ones. */
export function middle(series: Series | null): Column {
    return series?.mean ?? series?.high ?? series?.low ?? [];
}

export function highest(column: Column): number | null {
    let best: number | null = null;
    for (const value of column) if (value !== null && value !== undefined && (best === null || value > best)) best = value;
    return best;
}

export function lowest(column: Column): number | null {
    let best: number | null = null;
    for (const value of column) if (value !== null && value !== undefined && (best === null || value < best)) best = value;
    return best;
}

export function lastKnown(column: Column): number | null {
    for (let i = column.length - 1; i >= 0; --i) {
        const value = column[i];
        if (value !== null && value !== undefined) return value;
    }
    return null;
}

/** Index of the last time at or before `at`; -1 if all are later. */
export function indexAt(times: readonly number[], at: number): number {
    let low = 0;
    let high = times.length;
    while (low < high) {
        const between = (low + high) >> 1;
        if ((times[between] as number) <= at) low = between + 1;
        else high = between;
    }
    return low - 1;
}

export interface Stack {
    labels: string[];
    ids: string[];
    values: Column[];  // of each part
    sums: Column[];  // each part plus all parts before it
}

/** Stacked parts. If there are more than `most`, the last part is the sum of the smallest ones. */
export function stacked(series: readonly Series[], most: number, restLabel: string): Stack {
    const parts = series.map((each) => ({ id: each.id, label: each.label, values: middle(each) }));
    if (parts.length > most) {
        parts.sort((a, b) => (highest(b.values) ?? 0) - (highest(a.values) ?? 0));
        const rest = parts.splice(most - 1);
        const length = Math.max(...rest.map((each) => each.values.length));
        parts.push({
            id: "rest",
            label: restLabel,
            values: Array.from({ length }, (_, i) => {
                const known = rest.map((each) => each.values[i]).filter((value): value is number => typeof value === "number");
                return known.length > 0 ? known.reduce((a, b) => a + b, 0) : null;
            }),
        });
    }
    const sums: Column[] = [];
    parts.forEach((part, k) => {
        const below = sums[k - 1];
        sums.push(part.values.map((value, i) => {
            const base = below?.[i] ?? null;
            return value === null || value === undefined ? base : value + (base ?? 0);
        }));
    });
    return { labels: parts.map((each) => each.label), ids: parts.map((each) => each.id), values: parts.map((each) => each.values), sums };
}

/** The values of a live tick by the ids of series. */
export function valuesOf(tick: LiveTick): Map<string, number | null> {
    const values = new Map<string, number | null>();
    for (const id of ["held", "floor", "usage", "limit", "processes"] as const) values.set(id, tick[id] ?? null);
    for (const [kind, bytes] of Object.entries(tick.kinds ?? {})) values.set(`kind:${kind}`, bytes ?? null);
    for (const [role, bytes] of Object.entries(tick.roles ?? {})) values.set(`role:${role}`, bytes ?? null);
    for (const [gpu, use] of Object.entries(tick.gpus ?? {})) {
        if (typeof use === "object" && use !== null)
            for (const [what, bytes] of Object.entries(use)) values.set(`gpu:${gpu}:${what}`, bytes ?? null);
        else values.set(gpu.startsWith("gpu:") ? gpu : `gpu:${gpu}`, use ?? null);
    }
    return values;
}

const groups: Record<string, string> = { kind: "kind", role: "role", gpu: "gpu", processes: "count" };

/** Adds a live tick as a bin of its own. A series that is new gets nulls for the time before. */
export function append(curves: Curves, tick: LiveTick): void {
    const last = curves.time[curves.time.length - 1];
    if (last !== undefined && tick.time <= last) return;
    const values = valuesOf(tick);
    const known = new Set(curves.series.map((each) => each.id));
    for (const [id, value] of values)
        if (!known.has(id) && value !== null) {
            const first = id.split(":")[0] ?? id;
            const label = id.slice(id.indexOf(":") + 1);
            curves.series.push({ id, label, group: groups[first] ?? "main", mean: curves.time.map(() => null) });
        }
    for (const series of curves.series) {
        const value = values.get(series.id) ?? null;
        series.low?.push(value);
        series.high?.push(value);
        series.mean?.push(value);
    }
    curves.time.push(tick.time);
    curves.to = Math.max(curves.to, tick.time);
}

/** A copy that `append` may change without changing the original. */
export function copyOf(curves: Curves): Curves {
    return {
        ...curves,
        time: [...curves.time],
        series: curves.series.map((each) => {
            const copy: Series = { id: each.id, label: each.label, group: each.group };
            if (each.low) copy.low = [...each.low];
            if (each.high) copy.high = [...each.high];
            if (each.mean) copy.mean = [...each.mean];
            return copy;
        }),
    };
}
