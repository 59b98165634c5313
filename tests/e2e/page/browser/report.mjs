// A report as `memscope report --html` writes it, from any data: for names that no process of a test can have.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const escapes = { "<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029" };

export function writeReport(page, data, file) {
    const script = readFileSync(join(page, "page.js"), "utf8");
    const style = readFileSync(join(page, "page.css"), "utf8");
    const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
    const json = JSON.stringify(data).replace(/[<>&\u2028\u2029]/g, (character) => escapes[character]);
    writeFileSync(
        file,
        `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">` +
            `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data:">` +
            `<title>memscope</title><style>${style}</style></head><body>` +
            `<script type="application/json" id="memscope-data">${json}</script><script>${script}</script></body></html>\n`,
    );
}
