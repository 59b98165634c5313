// Builds the page: `node build.mjs OUTDIR` writes page.js, page.css, index.html and licences.txt.
import { build } from "esbuild";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const outdir = resolve(process.argv[2] ?? join(here, "dist"));
mkdirSync(outdir, { recursive: true });

const bundled = await build({
    absWorkingDir: here,
    entryPoints: ["src/page.ts", "src/page.css"],
    outdir,
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2020",
    charset: "ascii",
    legalComments: "none",
    metafile: true,
    logLevel: "warning",
});

// The report has the script inline, where these two sequences would end it or start a comment. esbuild escapes the
// first one in strings; this check is for everything else.
const script = readFileSync(join(outdir, "page.js"), "utf8");
for (const sequence of ["</script", "<!--"])
    if (script.toLowerCase().includes(sequence)) throw new Error(`page.js contains ${sequence}`);
if (readFileSync(join(outdir, "page.css"), "utf8").toLowerCase().includes("</style")) throw new Error("page.css contains </style");

// The packages whose files are in the bundle, each with its licence.
const packages = new Set();
for (const output of Object.values(bundled.metafile.outputs))
    for (const input of Object.keys(output.inputs)) {
        const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
        if (found) packages.add(found[1]);
    }
const licences = [...packages].sort().map((name) => {
    const folder = join(here, "node_modules", name);
    const { version, homepage } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const text = readFileSync(join(folder, "LICENSE"), "utf8").trim();
    return `${name} ${version}${homepage ? ` (${homepage})` : ""}\n\n${text}\n`;
});
writeFileSync(
    join(outdir, "licences.txt"),
    `The page of memscope contains these packages.\n\n${licences.join("\n----\n\n")}`,
);
writeFileSync(join(outdir, "index.html"), readFileSync(join(here, "src/index.html")));
