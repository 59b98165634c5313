// The own memory of each process in the ticks that the page has received, for the small curves of the tree. The size is
// bounded, because the page may stay open for days.
import type { Process, Tick } from "../data/types.ts";
import { keyOf, ownOf } from "./tree.ts";

export interface Point {
    time: number;
    bytes: number;
}

export class ProcessHistory {
    private readonly points = new Map<string, Point[]>();

    constructor(
        private readonly mostPoints = 120,
        private readonly mostProcesses = 1000,
    ) {}

    add(tick: Tick): void {
        for (const process of tick.processes) {
            const bytes = ownOf(process);
            if (bytes !== null) this.addPoint(keyOf(process), { time: tick.time, bytes });
        }
        while (this.points.size > this.mostProcesses) this.points.delete(this.points.keys().next().value as string);
    }
    private addPoint(key: string, point: Point): void {
        const points = this.points.get(key) ?? [];
        this.points.delete(key);  // moves the process to the end, because the oldest entries are dropped first
        this.points.set(key, points);
        let at = points.length;
        while (at > 0 && (points[at - 1] as Point).time > point.time) --at;
        if (points[at - 1]?.time === point.time) return;
        points.splice(at, 0, point);
        // Drops every second point of the older half, so that the shape of the curve stays.
        if (points.length > this.mostPoints) {
            const half = points.length >> 1;
            for (let i = half - (half % 2); i > 0; i -= 2) points.splice(i, 1);
        }
    }
    of(process: Process): readonly Point[] {
        return this.points.get(keyOf(process)) ?? [];
    }
    /** The sum over several processes, at each time for which at least one of them has a point. */
    sum(processes: readonly Process[]): readonly Point[] {
        if (processes.length === 1) return this.of(processes[0] as Process);
        const sums = new Map<number, number>();
        for (const process of processes) for (const { time, bytes } of this.of(process)) sums.set(time, (sums.get(time) ?? 0) + bytes);
        return [...sums].map(([time, bytes]) => ({ time, bytes })).sort((a, b) => a.time - b.time);
    }
}
