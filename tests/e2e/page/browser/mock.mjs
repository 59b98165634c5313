// A server that answers as `memscope web` does, for cases that take too long in a test (a day, an hour of live ticks), and
// for a server that stops.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { sample } from "./sample.mjs";

const policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const types = { "index.html": "text/html", "page.js": "text/javascript", "page.css": "text/css", "licences.txt": "text/plain" };

/** `ticksPerAnswer`: how many seconds of the job pass between two answers to /api/live; none: a recording. */
export async function mockServer(page, options = {}) {
    const { ticksPerAnswer = 0, seconds = 1800 } = options;
    const mode = ticksPerAnswer ? "live" : "recording";
    const made = sample({ ...options, mode });
    const { run } = made.embedded;
    let now = ticksPerAnswer ? 600 : seconds;  // seconds since the run began
    const asked = [];
    const answer = (path, query) => {
        const at = query.has("at") ? Number(query.get("at")) - run.began : now;
        switch (path) {
            case "/api/run":
                return { ...run, ended: ticksPerAnswer ? null : run.ended, last: run.began + now, phases: run.phases.map((phase) => ({ ...phase, to: Math.min(phase.to, run.began + now) })), events: run.events.filter((event) => event.time <= run.began + now) };
            case "/api/curves": {
                const from = Number(query.get("from") ?? run.began);
                const to = Number(query.get("to") ?? run.began + now);
                return made.curves(from, to, Math.max(1, Math.min(Number(query.get("width")), Math.round(to - from))));
            }
            case "/api/tick":
                return made.tick(Math.max(0, Math.min(at, now)));
            case "/api/growth":
                return made.growth(at);
            case "/api/heap":
                return made.heap(at);
            case "/api/live": {
                const after = Number(query.get("after")) - run.began;
                now += ticksPerAnswer;
                const ticks = [];
                for (let t = Math.max(Math.floor(after) + 1, now - 119); t <= now; ++t) ticks.push(made.liveTick(t));
                return { ticks, events: [], summary: run.summary, forecast: run.forecast, ended: false };
            }
        }
        return null;
    };
    const server = createServer((request, response) => {
        const url = new URL(request.url, "http://localhost");
        asked.push(url.pathname + url.search);
        const name = url.pathname === "/" ? "index.html" : url.pathname.slice(1);
        const json = url.pathname.startsWith("/api/") ? answer(url.pathname, url.searchParams) : null;
        const headers = { "Content-Security-Policy": policy, "Cache-Control": "no-store" };
        if (json) response.writeHead(200, { ...headers, "Content-Type": "application/json" }).end(JSON.stringify(json));
        else if (types[name]) response.writeHead(200, { ...headers, "Content-Type": types[name] }).end(readFileSync(join(page, name)));
        else response.writeHead(404, { ...headers, "Content-Type": "application/json" }).end('{"error":"not there"}');
    });
    await new Promise((done) => server.listen(0, "127.0.0.1", done));
    return {
        address: `http://127.0.0.1:${server.address().port}/`,
        asked,
        run,
        close: () => new Promise((done) => (server.close(done), server.closeAllConnections())),
    };
}
