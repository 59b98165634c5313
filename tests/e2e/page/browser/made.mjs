// The page with generated data: node made.mjs PAGE SCREENSHOTS [SCENARIO]. No memscope, no root.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { accessibilityFaults, check, failed, fits, spanOf, text, until, withBrowser } from "./browser.mjs";
import { mockServer } from "./mock.mjs";
import { writeReport } from "./report.mjs";
import { hostileNames, sampleRun } from "./sample.mjs";

const [page, screenshots, only] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "memscope-page-"));
const report = (name, options) => {
    const file = join(folder, `${name}.html`);
    writeReport(page, sampleRun(options), file);
    return pathToFileURL(file).href;
};

async function leak(pages) {
    const address = report("leak", { workers: 3 });
    await pages.open("a leak", address, {}, async (tab) => {
        check("a leak: the verdict is on top", (await text(tab, "#verdict")).includes("Leaking"));
        check("a leak: the time that is left", /16 min/.test(await text(tab, ".time-big")), await text(tab, ".time-big"));
        const answers = await tab.locator(".answer dd").allTextContents();
        check("a leak: five answers", answers.length === 5 && answers.every((answer) => answer.length > 8), answers.join(" | "));
        check("a leak: the line is named", (await text(tab, "#growth table")).includes("validate (train.py:60)"));
        check("a leak: one row for each own line", (await tab.locator("#growth tbody tr").count()) === 2, await tab.locator("#growth tbody tr").count());
        check("a leak: the holder is named", (await text(tab, "#heap table")).includes("__main__.trainer.val_outputs"));
        check("a leak: inherited memory is a column", (await text(tab, "#processes table")).includes("Inherited"));
        check("a leak: each process has a curve", (await tab.locator("#processes .spark").count()) === 5, await tab.locator("#processes .spark").count());
        check("a leak: GPUs have plots", (await tab.locator("#gpus .uplot").count()) === 2);
        check("a leak: no style attributes in what data makes", (await tab.evaluate(() => document.querySelectorAll("td[style], th[style], li[style]").length)) === 0);
        const captions = await tab.evaluate(() => [...document.querySelectorAll("table")].every((table) => table.caption && table.querySelector("th[scope=col]")));
        check("a leak: tables have captions and scopes", captions);
        check("a leak: every plot has a text", await tab.evaluate(() => [...document.querySelectorAll(".plot")].every((plot) => plot.getAttribute("aria-label").length > 20)));
        check("a leak: it fits 1280 pixels", await fits(tab));
        await pages.shoot(tab, "leak-1280-light");
        await tab.keyboard.press("g");
        await tab.locator("#growth").scrollIntoViewIfNeeded();
        check("a leak: the flame graph is drawn", (await tab.locator("#growth canvas.flame").count()) === 1);
        await tab.locator("#growth canvas.flame").hover({ position: { x: 100, y: 70 } });
        check("a leak: it names the frame under the pointer", (await text(tab, ".flame-readout")).includes("validate"), await text(tab, ".flame-readout"));
        await pages.shoot(tab, "flame-1280-light", false);
        await tab.keyboard.press("g");
        await tab.selectOption("#growth select[aria-label='Compare with']", { index: 1 });
        check("a leak: a difference of two times", await until(tab, () => document.querySelector("#growth table caption")?.textContent.includes("between two times")), await text(tab, "#growth"));
        await tab.keyboard.press("?");
        check("a leak: ? shows the keys", await tab.locator("dialog[open]").count());
        await tab.keyboard.press("Escape");
        check("a leak: Esc closes them", (await tab.locator("dialog[open]").count()) === 0);
        check("a leak: the theme follows the system", (await tab.evaluate(() => document.documentElement.dataset.theme)) === "light");
        await tab.keyboard.press("t");
        check("a leak: t switches it", (await tab.evaluate(() => document.documentElement.dataset.theme)) === "dark");
    });
    await pages.open("a leak on a telephone", address, { width: 390, height: 844, touch: true }, async (tab) => {
        check("a leak on a telephone: it fits", await fits(tab));
        await pages.shoot(tab, "leak-390-light");
    });
    await pages.open("a leak in the dark", address, { dark: true }, async (tab) => {
        check("a leak in the dark: the page is dark", (await tab.evaluate(() => getComputedStyle(document.body).backgroundColor)) === "rgb(20, 23, 27)");
        await pages.shoot(tab, "leak-1280-dark");
    });
}

async function accessible(pages) {
    const address = report("accessible", { workers: 3, death: true });
    for (const [name, options] of [["light", {}], ["dark", { dark: true }], ["on a telephone", { width: 390, height: 844, touch: true }]])
        await pages.open(`for everyone, ${name}`, address, options, async (tab) => {
            const faults = await accessibilityFaults(tab);
            check(`for everyone, ${name}: the rules of accessibility are kept`, faults.length === 0, faults.join("; "));
        });
}

async function moving(pages) {
    await pages.open("moving", report("moving", { workers: 3, death: true }), {}, async (tab) => {
        const whole = await spanOf(tab);
        const plot = tab.locator("#held .u-over");
        const box = await plot.boundingBox();
        await tab.mouse.move(box.x + 200, box.y + 100);
        await tab.mouse.down();
        await tab.mouse.move(box.x + 500, box.y + 110, { steps: 5 });
        await tab.mouse.up();
        const zoomed = await (await until(tab, (was) => !document.querySelector("#held .plot").getAttribute("aria-label").includes(was), `to ${whole[1]}`), spanOf(tab));
        check("moving: a drag zooms", zoomed[0] > whole[0] && zoomed[1] < whole[1], `${whole} ${zoomed}`);
        await tab.mouse.move(box.x + 300, box.y + 100);
        await tab.keyboard.down("Control");
        await tab.mouse.wheel(0, -300);
        await tab.keyboard.up("Control");
        check("moving: Ctrl and the wheel zoom", await until(tab, (was) => !document.querySelector("#held .plot").getAttribute("aria-label").includes(`from ${was}`), zoomed[0]), await spanOf(tab));
        await tab.keyboard.press("0");
        check("moving: 0 shows the whole run", await until(tab, (was) => document.querySelector("#held .plot").getAttribute("aria-label").includes(`from ${was}`), whole[0]));
        await tab.mouse.move(box.x + box.width / 2, box.y + 60);
        const cursors = await tab.evaluate(() => [...document.querySelectorAll(".u-cursor-x")].map((line) => new DOMMatrix(getComputedStyle(line).transform).e).filter((x) => x > 0).length);
        check("moving: all plots have the cursor", cursors >= 5, cursors);
        await tab.mouse.click(box.x + box.width / 2, box.y + 60);
        check("moving: a click pins the moment of the tables", await until(tab, () => document.querySelector(".moment").textContent.startsWith("Tables show")));
        check("moving: and the tables follow", await until(tab, () => !document.querySelector("#processes .when").textContent.includes("14:29")), await text(tab, "#processes .when"));
        const before = await text(tab, "#processes .when");
        await tab.locator("button.event[data-kind=death]").click();
        check("moving: an event moves the tables", await until(tab, (was) => document.querySelector("#processes .when").textContent !== was, before), before);
        check("moving: and is marked in the list", (await tab.locator("button.event[aria-current]").count()) === 1);
        await tab.keyboard.press("Escape");
        check("moving: Esc goes back to the end", await until(tab, () => document.querySelector(".moment").textContent === ""));
        await tab.keyboard.press("p");
        check("moving: p is the event before", await until(tab, () => document.querySelector(".moment").textContent !== ""));
        await tab.keyboard.press("Escape");
        // A record of a later time must not be shown for an earlier one.
        await tab.locator("#held .u-over").click({ position: { x: 8, y: 60 } });
        check("moving: before the first census there is none", await until(tab, () => document.querySelector("#heap").textContent.includes("No census was taken at or before this moment")), await text(tab, "#heap"));
        check("moving: before the first record of growth there is none", await until(tab, () => document.querySelector("#growth").textContent.includes("No growth was recorded at or before this moment")), await text(tab, "#growth"));
    });
}

async function hostile(pages) {
    await pages.open("hostile names", report("hostile", { hostile: true, workers: 4, death: true }), {}, async (tab) => {
        check("hostile names: none is an element", (await tab.evaluate(() => document.querySelectorAll("main img, main script, header img, header script").length)) === 0);
        const shown = await text(tab, "#processes table");
        check("hostile names: a script is shown as text", shown.includes("<script>alert(1)</script>"), shown);
        check("hostile names: marks of direction are spelled out", shown.includes("evil\\u202egnp.exe") && !shown.includes("\u202e"), shown);
        check("hostile names: names are isolated", (await tab.evaluate(() => [...document.querySelectorAll("#processes tbody bdi")].length)) >= 4);
        check("hostile names: a name of 4 KB is cut", !shown.includes(hostileNames.long) && shown.includes("nnnnnnnn") && shown.includes("\u2026"));
        check("hostile names: the page is not pushed aside", await fits(tab));
        await tab.locator("label.check input").check();
        const all = await tab.evaluate(() => document.body.textContent);
        check("hostile names: no deceiving character anywhere", !/[\u202a-\u202e\u2066-\u2069\u200b]/.test(all));
        await pages.shoot(tab, "hostile-1280-light");
    });
    await pages.open("hostile names on a telephone", report("hostile-narrow", { hostile: true, workers: 4, gpus: 0 }), { width: 390, height: 844, dark: true }, async (tab) => {
        check("hostile names on a telephone: it fits", await fits(tab));
        check("hostile names on a telephone: no GPU is said, not drawn", (await text(tab, "#gpus")).includes("No GPU was seen"));
        await pages.shoot(tab, "hostile-390-dark");
    });
}

async function aDay(pages) {
    const server = await mockServer(page, { seconds: 86400, workers: 20, gpus: 8 });
    await pages.open("a day", server.address, {}, async (tab) => {
        const width = Number(/width=(\d+)/.exec(server.asked.find((path) => path.startsWith("/api/curves")))[1]);
        check("a day: the page asks for what its pixels can show", width <= 1300, width);
        const before = server.asked.length;
        const box = await tab.locator("#held .u-over").boundingBox();
        await tab.mouse.move(box.x + 600, box.y + 100);
        await tab.keyboard.down("Control");
        const began = Date.now();
        for (let i = 0; i < 12; ++i) await tab.mouse.wheel(0, -120);
        const turned = Date.now() - began;  // ms; a second on a busy machine
        await tab.keyboard.up("Control");
        await until(tab, () => !document.querySelector("#held .plot").getAttribute("aria-label").includes("from 00:00:00"));
        await tab.waitForTimeout(600);
        const asked = server.asked.slice(before).filter((path) => path.startsWith("/api/curves"));
        const most = 3 + Math.floor(turned / 120);  // the page waits 120 ms for the next turn before it asks
        check("a day: twelve turns of the wheel are few requests", asked.length >= 1 && asked.length <= most, `${turned} ms: ${asked.join(" ")}`);
        check("a day: and these ask for the span", asked.every((path) => path.includes("from=")), asked.join(" "));
        const frames = await tab.evaluate(async () => {
            // A pointer that moves over the plot: how long the page needs for a frame.
            const over = document.querySelector("#held .u-over");
            const place = over.getBoundingClientRect();
            const times = [];
            for (let i = 0; i < 60; ++i) {
                const began = performance.now();
                over.dispatchEvent(new MouseEvent("mousemove", { clientX: place.left + 10 + i * 8, clientY: place.top + 50, bubbles: true }));
                await new Promise((done) => requestAnimationFrame(done));
                times.push(performance.now() - began);
            }
            return times.sort((a, b) => a - b)[30];
        });
        console.log(`a day: a frame with a moving pointer takes ${frames.toFixed(0)} ms (median of 60)`);
        await pages.shoot(tab, "day-1280-light");
    });
    await server.close();
}

async function anHour(pages) {
    const server = await mockServer(page, { seconds: 7200, workers: 12, ticksPerAnswer: 120 });
    await pages.open("an hour of live", server.address, { quiet: false }, async (tab) => {
        check("an hour of live: it says that it is live", (await text(tab, ".state")).startsWith("Live"), await text(tab, ".state"));
        const ticks = () => server.asked.filter((path) => path.startsWith("/api/live")).length * 120;
        const heap = async () => {
            const session = await tab.context().newCDPSession(tab);
            await session.send("HeapProfiler.collectGarbage");
            await session.send("Performance.enable");
            const { metrics } = await session.send("Performance.getMetrics");
            return metrics.find((each) => each.name === "JSHeapUsedSize").value / (1 << 20);
        };
        // The page asks once a second: the clock of the page runs faster instead.
        await tab.evaluate(() => {
            const real = setTimeout;
            globalThis.setTimeout = (then, wait, ...rest) => real(then, Math.min(wait ?? 0, 60), ...rest);
        });
        const until_ = Date.now() + 20000;
        while (ticks() < 3600 && Date.now() < until_) await tab.waitForTimeout(200);
        const used = await heap();
        check("an hour of live: 3,600 ticks came", ticks() >= 3600, ticks());
        check("an hour of live: the page keeps less than 200 MiB", used < 200, used);
        const drawn = await tab.evaluate(() => document.querySelectorAll("*").length);
        check("an hour of live: its elements are bounded", drawn < 4000, drawn);
        await tab.getByRole("button", { name: "Pause" }).click();
        const paused = await text(tab, ".state");
        check("an hour of live: it can be paused", paused.startsWith("Paused at"), paused);
        await tab.waitForTimeout(700);
        check("an hour of live: and then stands", (await text(tab, ".state")) === paused, await text(tab, ".state"));
        await tab.getByRole("button", { name: "Continue" }).click();
        check("an hour of live: and goes on", (await text(tab, ".state")).startsWith("Live"));
        await pages.shoot(tab, "live-1280-light");
        await server.close();
        check("an hour of live: a server that is gone is said", await until(tab, () => document.querySelector(".trouble-line").textContent.includes("does not answer"), null, 10), await text(tab, ".trouble-line"));
        check("an hour of live: and the last data stays", (await text(tab, "#processes table")).includes("train.py"));
    });
}

try {
    await withBrowser(screenshots, async (pages) => {
        for (const scenario of [leak, accessible, moving, hostile, aDay, anHour].filter((each) => !only || each.name === only)) await scenario(pages);
    });
} finally {
    rmSync(folder, { recursive: true, force: true });
}
process.exitCode = failed() ? 1 : 0;
