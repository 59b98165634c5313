/**
 * Requests data whose parameters the user may change quickly: waits until the changes pause, aborts the older request,
 * and drops its answer.
 */
export class Latest<T> {
    private timer: ReturnType<typeof setTimeout> | undefined;
    private current: AbortController | null = null;

    constructor(
        private readonly ask: (signal: AbortSignal) => Promise<T>,
        private readonly answered: (answer: T) => void,
        private readonly failed: (error: unknown) => void,
        private readonly pause: number,
    ) {}

    now(): void {
        clearTimeout(this.timer);
        this.timer = undefined;
        this.current?.abort();
        const asked = new AbortController();
        this.current = asked;
        this.ask(asked.signal).then(
            (answer) => {
                if (this.current !== asked) return;
                this.current = null;
                this.answered(answer);
            },
            (error: unknown) => {
                if (this.current !== asked) return;
                this.current = null;
                this.failed(error);
            },
        );
    }
    soon(): void {
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.now(), this.pause);
    }
    get busy(): boolean {
        return this.current !== null;
    }
}
