import type { Source } from "./source.ts";
import type { Curves, Growth, Heap, Live, Run, Tick } from "./types.ts";

/** An error answer of the server, with its sentence. */
export class ServerError extends Error {
    constructor(
        readonly status: number,
        sentence: string,
    ) {
        super(sentence);
    }
}

const longestAnswer = 64 << 20;

async function ask<T>(path: string, parameters: Record<string, string | number | null>, signal: AbortSignal | null): Promise<T> {
    const query = new URLSearchParams();
    for (const [key, value] of Object.entries(parameters)) if (value !== null) query.set(key, String(value));
    const text = query.toString();
    const answer = await fetch(text ? `${path}?${text}` : path, {
        credentials: "same-origin",
        cache: "no-store",
        ...(signal ? { signal } : {}),
    });
    if (Number(answer.headers.get("content-length") ?? 0) > longestAnswer)
        throw new ServerError(answer.status, "The answer of memscope is too large for this page.");
    const body: unknown = await answer.json().catch(() => null);
    if (answer.ok && typeof body === "object" && body !== null) return body as T;
    const said = typeof body === "object" && body !== null && "error" in body ? String(body.error) : null;
    throw new ServerError(answer.status, said ?? `memscope answered with status ${answer.status}.`);
}

/** 404 means that there is no such data: the result is null. */
async function askOptional<T>(path: string, parameters: Record<string, string | number | null>, signal: AbortSignal): Promise<T | null> {
    try {
        return await ask<T>(path, parameters, signal);
    } catch (error) {
        if (error instanceof ServerError && error.status === 404) return null;
        throw error;
    }
}

export class Server implements Source {
    readonly asks = true;
    async run(): Promise<Run> {
        const run = await ask<Run>("/api/run", {}, null);
        return { ...run, interval: run.interval ?? 0 };  // null until a live run has two ticks
    }
    curves(from: number | null, to: number | null, width: number, signal: AbortSignal): Promise<Curves> {
        return ask("/api/curves", { from, to, width }, signal);
    }
    tick(at: number | null, signal: AbortSignal): Promise<Tick | null> {
        return askOptional("/api/tick", { at }, signal);
    }
    growth(at: number | null, since: string, signal: AbortSignal): Promise<Growth | null> {
        return askOptional("/api/growth", { at, since }, signal);
    }
    heap(at: number | null, signal: AbortSignal): Promise<Heap | null> {
        return askOptional("/api/heap", { at }, signal);
    }
    takeCensus(): Promise<Heap | null> {
        return ask("/api/heap", { take: 1 }, null);
    }
    live(after: number, signal: AbortSignal): Promise<Live> {
        return ask("/api/live", { after }, signal);
    }
}
