import { embeddedData, Report } from "./data/embedded.ts";
import { Server } from "./data/server.ts";
import { App } from "./view/app.ts";
import { h, replace } from "./view/dom.ts";
import { startTheme } from "./view/theme.ts";

async function start(): Promise<void> {
    startTheme();
    const data = embeddedData();
    const source = data ? new Report(data) : new Server();
    try {
        const run = await source.run();
        new App(source, run).start(document.body);
    } catch (error) {
        replace(
            document.body,
            h("main", { class: "trouble", role: "alert" }, h("h1", {}, "This page has no data"), h("p", {}, error instanceof Error ? error.message : "memscope does not answer.")),
        );
    }
}

if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", () => void start());
else void start();
