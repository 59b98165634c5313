// One browser for a scenario: opens pages, keeps screenshots, and counts events that must not occur in any page.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import axe from "axe-core";
import { chromium } from "playwright-core";

const failures = [];

export function check(name, ok, detail = "") {
    console.log(`${ok ? "ok  " : "FAIL"}  ${name}${!ok && detail !== "" ? `   [${detail}]` : ""}`);
    if (!ok) failures.push(name);
    return ok;
}

export function failed() {
    return failures.length;
}

export async function withBrowser(screenshots, use) {
    mkdirSync(screenshots, { recursive: true });
    const browser = await chromium.launch({
        executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
        args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
    });
    try {
        await use(new Pages(browser, screenshots));
    } finally {
        await browser.close();
    }
}

export class Pages {
    constructor(browser, screenshots) {
        this.browser = browser;
        this.screenshots = screenshots;
    }

    /** Opens an address in a context of its own, and checks at the end for errors and for requests elsewhere. */
    async open(name, address, options, use) {
        const { width = 1280, height = 900, dark = false, touch = false, ready = ".uplot", quiet = true } = options;
        const context = await this.browser.newContext({ viewport: { width, height }, colorScheme: dark ? "dark" : "light", hasTouch: touch });
        const page = await context.newPage();
        const errors = [];
        const strangers = [];
        const dialogs = [];
        const origin = new URL(address).origin;
        page.on("console", (message) => ["error", "warning"].includes(message.type()) && errors.push(message.text()));
        page.on("pageerror", (error) => errors.push(error.message));
        page.on("dialog", (dialog) => (dialogs.push(dialog.message()), dialog.dismiss()));
        page.on("request", (request) => !/^(data|blob|file):/.test(request.url()) && new URL(request.url()).origin !== origin && strangers.push(request.url()));
        // A violation of the Content-Security-Policy is an event of the document, even if the console shows nothing.
        await page.addInitScript(() => {
            globalThis.violations = [];
            addEventListener("securitypolicyviolation", (event) => globalThis.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
        });
        try {
            await page.goto(address);
            if (ready) await page.waitForSelector(ready, { timeout: 20000 });
            await use(page);
            const violations = await page.evaluate(() => globalThis.violations ?? []);
            check(`${name}: the policy is not violated`, violations.length === 0, violations.join("; "));
            if (quiet) check(`${name}: the console is silent`, errors.length === 0, errors.join("; ").slice(0, 400));
            check(`${name}: it asks no other server, and no name opens a dialog`, strangers.length + dialogs.length === 0, [...strangers, ...dialogs].join("; "));
        } catch (error) {
            check(`${name}: it can be used`, false, `${error.message.split("\n")[0]}; ${errors.join("; ").slice(0, 300)}`);
            await page.screenshot({ path: join(this.screenshots, `${name.replace(/\W+/g, "-")}-failed.png`), fullPage: true }).catch(() => {});
        } finally {
            await context.close();
        }
    }

    async shoot(page, name, fullPage = true) {
        if (fullPage) await page.evaluate(() => scrollTo(0, 0));  // the bar stays at the top of what is seen
        await page.screenshot({ path: join(this.screenshots, `${name}.png`), fullPage });
    }
}

/** The text of an element, or "" if it is not there. */
export async function text(page, selector) {
    return (await page.locator(selector).first().textContent({ timeout: 5000 }).catch(() => "")) ?? "";
}

/** Waits until a test of the page holds; false after the time. */
export async function until(page, test, argument, seconds = 10) {
    try {
        await page.waitForFunction(test, argument, { timeout: seconds * 1000, polling: 100 });
        return true;
    } catch {
        return false;
    }
}

/** Nothing reaches beyond the right edge of the window. */
export async function fits(page) {
    return page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth);
}

/** What axe finds against the rules of WCAG 2.1, levels A and AA: names, roles, order of headings, contrast. */
export async function accessibilityFaults(page) {
    await page.evaluate(axe.source);
    const found = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] }));
    return found.violations.map((fault) => `${fault.id}: ${fault.nodes.map((node) => node.target.join(" ")).slice(0, 5).join(", ")} (${fault.nodes.length})`);
}

/** Where the span of the first plot begins and ends: the times of its axis are drawn, so its label says them. */
export async function spanOf(page) {
    const label = (await page.locator("#held .plot").getAttribute("aria-label")) ?? "";
    const found = /from (\d\d:\d\d:\d\d) to (\d\d:\d\d:\d\d)/.exec(label);
    return found ? [found[1], found[2]] : null;
}
