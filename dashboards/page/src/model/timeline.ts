// Which part of the run the plots show, and which moment the tables show. No DOM, no clock.

export type View = { kind: "whole" } | { kind: "tail"; length: number } | { kind: "span"; from: number; to: number };

export interface Span {
    from: number;
    to: number;
}

/** What has changed: the time span of the plots, the moment of the tables, or the time under the pointer. */
export type Change = "view" | "moment" | "hover" | "pause";

export class Timeline {
    private shown: View = { kind: "whole" };
    private pinned: number | null = null;
    private pointed: number | null = null;
    private frozenAt: number | null = null;
    private readonly listeners: ((change: Change) => void)[] = [];

    /** Seconds after the last tick that are also shown, with room for the forecast. */
    ahead = 0;

    constructor(
        readonly began: number,
        private newest: number,
        readonly shortest: number,
    ) {}

    listen(listener: (change: Change) => void): void {
        this.listeners.push(listener);
    }
    private tell(change: Change): void {
        for (const listener of this.listeners) listener(change);
    }

    get view(): View {
        return this.shown;
    }
    get last(): number {
        return this.frozenAt ?? this.newest;
    }
    get paused(): boolean {
        return this.frozenAt !== null;
    }
    /** The moment that the tables show; null: the latest. */
    get moment(): number | null {
        return this.pinned ?? this.frozenAt;
    }
    get isPinned(): boolean {
        return this.pinned !== null;
    }
    get hover(): number | null {
        return this.pointed;
    }
    get span(): Span {
        const last = Math.max(this.last, this.began + this.shortest);
        switch (this.shown.kind) {
            case "whole":
                return { from: this.began, to: last + this.room(last - this.began) };
            case "tail": {
                const from = Math.max(this.began, last - this.shown.length);
                return { from, to: Math.max(last, from + this.shortest) + this.room(last - from) };
            }
            case "span":
                return { from: this.shown.from, to: this.shown.to };
        }
    }
    /** At least half of the plot shows the past. */
    private room(past: number): number {
        return Math.min(this.ahead, past);
    }

    advance(newest: number): void {
        if (newest <= this.newest) return;
        this.newest = newest;
        if (!this.paused && this.shown.kind !== "span") this.tell("view");
    }
    pause(on: boolean): void {
        if (on === this.paused) return;
        this.frozenAt = on ? this.newest : null;
        this.tell("pause");
        this.tell("view");
        this.tell("moment");
    }

    whole(): void {
        this.shown = { kind: "whole" };
        this.tell("view");
    }
    tail(length: number): void {
        this.shown = { kind: "tail", length: Math.max(length, this.shortest) };
        this.tell("view");
    }
    show(from: number, to: number): void {
        const end = Math.max(this.last, this.began + this.shortest) + this.ahead;
        const length = Math.min(Math.max(to - from, this.shortest), end - this.began);
        const middle = (from + to) / 2;
        const start = Math.min(Math.max(middle - length / 2, this.began), end - length);
        this.shown = length >= end - this.began ? { kind: "whole" } : { kind: "span", from: start, to: start + length };
        this.tell("view");
    }
    /** A `factor` below 1 shows a shorter time span. The time `around` stays where it is on the screen. */
    zoom(around: number, factor: number): void {
        const { from, to } = this.span;
        this.show(around - (around - from) * factor, around + (to - around) * factor);
    }
    pan(seconds: number): void {
        const { from, to } = this.span;
        const start = Math.max(this.began, from + seconds);
        this.show(start, start + (to - from));
    }

    pin(time: number | null): void {
        const within = time === null ? null : Math.min(Math.max(time, this.began), this.last);
        if (within === this.pinned) return;
        this.pinned = within;
        this.tell("moment");
    }
    /** Shows a moment in the tables, and moves the plots so that it is in view. */
    seek(time: number): void {
        this.pin(time);
        const { from, to } = this.span;
        if (time < from || time > to) this.show(time - (to - from) / 2, time + (to - from) / 2);
    }
    point(time: number | null): void {
        if (time === this.pointed) return;
        this.pointed = time;
        this.tell("hover");
    }
}
