import { embeddedData, Report } from "./data/embedded.ts";
import { Server } from "./data/server.ts";
import { App } from "./view/app.ts";
import { h, replace } from "./view/dom.ts";
import { startTheme } from "./view/theme.ts";

async function start(): Promise<void> {
    startTheme();
    const data = embeddedData();
    const source = data ? new Report(data) : new Server();
    // The exact width of the plots is not known yet. It is nearly the width of the window.
    const early = source.curves(null, null, Math.min(1400, Math.max(200, innerWidth - 48)), new AbortController().signal);
    early.catch(() => {});  // App reports a failure; without this the browser would print it as unhandled
    try {
        const run = await source.run();
        new App(source, run, early).start(document.body);
    } catch (error) {
        replace(
            document.body,
            h("main", { class: "trouble", role: "alert" }, h("h1", {}, "This page has no data"), h("p", {}, error instanceof Error ? error.message : "memscope does not answer.")),
        );
    }
}

if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", () => void start());
else void start();
