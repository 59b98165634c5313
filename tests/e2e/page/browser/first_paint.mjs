// Opens an address once and prints milliseconds since the navigation began: until the first paint with content, and
// until the curve of the whole run is drawn.   first_paint.mjs ADDRESS
import { chromium } from "playwright-core";

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
await page.addInitScript(() => {
    const note = () => {
        globalThis.curveAt ??= document.querySelector("#held canvas") ? performance.now() : undefined;
        if (globalThis.curveAt === undefined) requestAnimationFrame(note);
    };
    requestAnimationFrame(note);
});
await page.goto(process.argv[2]);
const paint = "first-contentful-paint";  // the browser notes it a little later
await page.waitForFunction((name) => globalThis.curveAt !== undefined && performance.getEntriesByName(name).length > 0, paint, { timeout: 30000 });
const shown = await page.evaluate((name) => ({ paint: performance.getEntriesByName(name)[0].startTime, curve: globalThis.curveAt }), paint);
console.log(JSON.stringify(shown));
await browser.close();
