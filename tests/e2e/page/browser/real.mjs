// The page of a real memscope: node real.mjs SCENARIO ADDRESS SCREENSHOTS. The address has a token that works once.
import { check, failed, fits, spanOf, text, until, withBrowser } from "./browser.mjs";

const [scenario, address, screenshots] = process.argv.slice(2);
const origin = new URL(address).origin;

async function tokens(pages) {
    await pages.open("a wrong token", `${origin}/?token=${"0".repeat(32)}`, { ready: null, quiet: false }, async (tab) => {
        const said = await text(tab, "body");
        check("a wrong token: is refused with a sentence", said.length > 10 && said.length < 400 && !said.includes("cannot be reclaimed"), said);
        const status = await tab.evaluate(async () => (await fetch("/api/run").catch(() => ({ status: "blocked" }))).status);
        check("a wrong token: gives no data", status !== 200, status);
    });
}

async function usedToken(pages) {
    await pages.open("a used token", address, { ready: null, quiet: false }, async (tab) => {
        check("a used token: is refused", (await tab.locator("#verdict").count()) === 0, await text(tab, "body"));
    });
}

async function live(pages) {
    await tokens(pages);
    await pages.open("a live leak", address, {}, async (tab) => {
        check("a live leak: the address keeps no token", !tab.url().includes("token"), tab.url());
        check("a live leak: it says that it is live", (await text(tab, ".state")).startsWith("Live"), await text(tab, ".state"));
        const before = await text(tab, ".verdict-word");
        check("a live leak: the verdict turns", await until(tab, () => document.querySelector("#verdict").dataset.verdict === "leaking", null, 55), `${before} ${await text(tab, ".verdict-word")}`);
        check("a live leak: it says how much time is left", await until(tab, () => /\d+ (ms|s|min)/.test(document.querySelector(".time-big").textContent), null, 10), await text(tab, ".time-left"));
        check("a live leak: the line or the holder is named", await until(tab, () => /train\.py|val_outputs/.test(document.querySelector("#verdict").textContent + document.querySelector("#growth").textContent), null, 20), await text(tab, "#growth"));
        check("a live leak: the trainer is in the tree", /trainer/.test(await text(tab, "#processes table")));
        check("a live leak: plots have a role and kinds", (await tab.locator("#kinds .uplot, #roles .uplot").count()) === 2, await text(tab, "#roles"));
        const first = await spanOf(tab);
        check("a live leak: the plots go on", await until(tab, (was) => !document.querySelector("#held .plot").getAttribute("aria-label").includes(`to ${was}`), first?.[1], 10));
        await tab.getByRole("button", { name: "Take a census now" }).click();
        check("a live leak: a census shows which container holds it", await until(tab, () => document.querySelector("#heap table")?.textContent.includes("val_outputs"), null, 20), await text(tab, "#heap"));
        check("a live leak: it fits 1280 pixels", await fits(tab));
        await pages.shoot(tab, "real-live-1280-light");
        await tab.emulateMedia({ colorScheme: "dark" });
        await tab.waitForTimeout(300);
        await pages.shoot(tab, "real-live-1280-dark");
    });
    await usedToken(pages);
}

async function death(pages) {
    await pages.open("a death", address, {}, async (tab) => {
        check("a death: it is on top", /OOM killer/.test(await text(tab, ".death")), await text(tab, "#verdict"));
        check("a death: and says what to do", (await tab.locator(".advice li").count()) > 0);
        check("a death: it is in the list of events", (await tab.locator("button.event[data-kind=death]").count()) > 0);
        const tables = () => text(tab, "#processes");
        await tab.keyboard.press("p");
        check("a death: p goes to an event", await until(tab, () => document.querySelector(".moment").textContent.startsWith("Tables show")));
        // Before the death the tree has the process with the hostile name.
        await tab.locator("#held .u-over").click({ position: { x: 500, y: 100 } });
        check("a death: the hostile name is text", await until(tab, () => document.querySelector("#processes").textContent.includes("<script>alert(1)</script>"), null, 10), await tables());
        check("a death: the mark of direction is spelled out", await until(tab, () => /epoch\\u202e1/.test(document.querySelector("#processes").textContent + document.querySelector("#processes").innerHTML), null, 5), await tables());
        check("a death: no name has become an element", (await tab.evaluate(() => document.querySelectorAll("main script, main img").length)) === 0);
        check("a death: the line is named", await until(tab, () => document.body.textContent.includes("validate"), null, 10), await text(tab, "#growth"));
        const whole = await spanOf(tab);
        const box = await tab.locator("#held .u-over").boundingBox();
        await tab.mouse.move(box.x + 300, box.y + 100);
        await tab.mouse.down();
        await tab.mouse.move(box.x + 600, box.y + 100, { steps: 4 });
        await tab.mouse.up();
        check("a death: a drag zooms", await until(tab, (was) => !document.querySelector("#held .plot").getAttribute("aria-label").includes(`from ${was}`), whole?.[0]), await spanOf(tab));
        await tab.keyboard.press("0");
        await tab.keyboard.press("Escape");
        await tab.mouse.move(0, 0);
        await tab.waitForTimeout(600);
        await pages.shoot(tab, "real-death-1280-light");
        await tab.setViewportSize({ width: 390, height: 844 });
        await tab.emulateMedia({ colorScheme: "dark" });
        await tab.waitForTimeout(500);
        check("a death: it fits 390 pixels", await fits(tab));
        await pages.shoot(tab, "real-death-390-dark");
    });
    await usedToken(pages);
}

async function gpus(pages) {
    await pages.open("GPUs", address, {}, async (tab) => {
        check("GPUs: there are two", await until(tab, () => document.querySelectorAll("#gpus .uplot").length === 2, null, 15), await text(tab, "#gpus"));
        check("GPUs: what other processes hold", /by other processes\s*6[0-9] GiB/.test(await text(tab, "#gpus")), await text(tab, "#gpus"));
        check("GPUs: the process tree has a column", await until(tab, () => document.querySelector("#processes thead")?.textContent.includes("GPU"), null, 5), await text(tab, "#processes"));
        await tab.locator("#gpus").scrollIntoViewIfNeeded();
        await pages.shoot(tab, "real-gpus-1280-light");
    });
}

async function report(pages) {
    await pages.open("a report", address, {}, async (tab) => {
        check("a report: it says what it is", (await text(tab, ".state")).startsWith("Report"), await text(tab, ".state"));
        check("a report: the death is on top", /OOM killer/.test(await text(tab, ".death")));
        check("a report: the line is named", await until(tab, () => document.querySelector("main").textContent.includes("validate"), null, 5), await text(tab, "#growth"));
        await tab.locator("#held .u-over").click({ position: { x: 500, y: 100 } });
        check("a report: the hostile name is text", await until(tab, () => document.querySelector("#processes").textContent.includes("<img src=x>"), null, 5), await text(tab, "#processes"));
        check("a report: no name has become an element", (await tab.evaluate(() => document.querySelectorAll("main script, main img").length)) === 0);
        check("a report: there is no argument of a command", !(await tab.content()).includes("epoch"));
        await pages.shoot(tab, "real-report-1280-light");
    });
}

const scenarios = { live, death, gpus, report };
await withBrowser(screenshots, scenarios[scenario]);
process.exitCode = failed() ? 1 : 0;
