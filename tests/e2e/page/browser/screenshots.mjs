// The pictures of the documentation: node screenshots.mjs page ADDRESS FILE, or screenshots.mjs terminal CAPTURED FILE.
import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";
import { pieces } from "./terminal.mjs";

const [what, from, file] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
try {
    const page = await (await browser.newContext({ viewport: { width: 1280, height: 1060 } })).newPage();
    if (what === "page") {
        await page.goto(from);
        await page.waitForSelector(".uplot");
        await page.waitForFunction(() => document.querySelector("#verdict").dataset.verdict === "leaking" && /\d (s|min)/.test(document.querySelector(".time-big").textContent) && document.querySelector("#verdict").textContent.includes("keeps most of it"), null, { timeout: 90000 });
        await page.waitForTimeout(3000);
        // The part down to the end of the first plot, because a reader sees it first.
        const end = await page.evaluate(() => document.querySelector("#held").getBoundingClientRect().bottom);
        await page.screenshot({ path: file, clip: { x: 0, y: 0, width: 1280, height: Math.min(1060, Math.ceil(end)) } });
    } else {
        await page.setContent("<pre></pre>");
        await page.evaluate((all) => {
            const pre = document.querySelector("pre");
            Object.assign(document.body.style, { margin: "0", background: "#14171b" });
            Object.assign(pre.style, { margin: "0", padding: "14px 16px", width: "fit-content", color: "#e9e7e1", font: "14px/17px 'DejaVu Sans Mono', monospace" });
            for (const [text, style] of all) {
                const span = document.createElement("span");
                // The browser takes a character that the font lacks from another font. It gets the width of one cell of the terminal.
                for (const part of text.split(/([^\x00-\x7f])/)) {
                    const cell = document.createElement("span");
                    cell.textContent = part;
                    if (/[^\x00-\x7f]/.test(part)) Object.assign(cell.style, { display: "inline-block", width: "1ch", height: "17px", verticalAlign: "top" });
                    span.append(cell);
                }
                const fore = style.reverse ? (style.back ?? "#14171b") : style.fore;
                const back = style.reverse ? (style.fore ?? "#e9e7e1") : style.back;
                if (fore) span.style.color = fore;
                if (back) span.style.background = back;
                if (style.bold) span.style.fontWeight = "700";
                if (style.dim) span.style.opacity = "0.65";
                pre.append(span);
            }
        }, pieces(readFileSync(from, "utf8").trimEnd()));
        await page.locator("pre").screenshot({ path: file });
    }
} finally {
    await browser.close();
}
