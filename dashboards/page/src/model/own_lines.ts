// Growth as one row for each line of the user's own code, as `memscope growth` shows it
// (userspace/analysis/growth/attribution.cpp has the same rules).
import type { NativeFrame, PythonFrame, Site } from "../data/types.ts";
import { fileName } from "../text/printable.ts";

const standardLibrary = /^python3\.\d+[td]*$/;
const zippedLibrary = /^python3\d+\.zip$/;
const generated = ["<frozen ", "<eval_with_key>", "<attrs generated ", "<decorator-gen-"];

/** Code that the user of a job did not write. */
export function isLibrary(frame: PythonFrame): boolean {
    const file = frame.file ?? "";
    if (file.startsWith("<")) return file.endsWith(" internals>") || generated.some((start) => file.startsWith(start));
    const folders = file.split("/").slice(0, -1);
    return folders.some((folder, i) => {
        if (folder === "site-packages" || folder === "dist-packages" || zippedLibrary.test(folder)) return true;
        const parent = folders[i - 1];
        if ((parent === "lib" || parent === "lib64") && standardLibrary.test(folder)) return true;
        return folder.startsWith("torchinductor_");
    });
}

/** Index of the own frame. If all frames are in libraries, index of the innermost frame. -1: there are no frames. */
export function ownFrame(frames: readonly PythonFrame[]): number {
    const own = frames.findIndex((frame) => !isLibrary(frame));
    return own >= 0 ? own : frames.length > 0 ? 0 : -1;
}

export function pythonText(frame: PythonFrame): string {
    const place = frame.line ? `${fileName(frame.file || "?")}:${frame.line}` : fileName(frame.file || "?");
    return `${frame.function || "?"} (${place})`;
}

export function nativeText(frame: NativeFrame): string {
    if (frame.symbol) return frame.symbol;
    const module = frame.module ? fileName(frame.module) : "[unmapped]";
    return `${module}+0x${(frame.offset ?? 0).toString(16)}`;
}

/** Native frames that the innermost Python line called, without frames of the interpreter: the Python frames replace them. */
export function calledFromPython(native: readonly NativeFrame[]): NativeFrame[] {
    let end = native.findIndex((frame) => /^_?PyEval_/.test(frame.symbol ?? ""));
    if (end < 0) end = native.findIndex((frame) => /^(lib)?python/.test(fileName(frame.module ?? "")));
    return native.slice(0, end < 0 ? native.length : end);
}

export interface OwnLine {
    key: string;
    line: string;  // name of the row: "validate (train.py:60)", or a native function
    file: string;
    isOwn: boolean;  // a line of the user's own code
    role: string;
    rank: number | null;
    bytes: number;
    pids: number[];
    stacks: number;
    largest: Site;  // the stack with most bytes
}

/** One row for all stacks of a role with the same own line, and one row for each stack without Python. Largest first. */
export function ownLines(sites: readonly Site[]): OwnLine[] {
    const rows = new Map<string, OwnLine>();
    sites.forEach((site, i) => {
        const at = ownFrame(site.python);
        const frame = site.python[at];
        const native = site.native[0];
        const line = frame ? pythonText(frame) : native ? nativeText(native) : "unknown stack";
        const place = frame ? `${frame.function ?? ""}\n${frame.file ?? ""}\n${frame.line ?? ""}` : `native\n${site.native.map(nativeText).join("\n") || i}`;
        const key = `${site.role}\n${site.rank ?? ""}\n${place}`;
        const row = rows.get(key);
        if (!row) {
            rows.set(key, {
                key,
                line,
                file: frame?.file ?? native?.module ?? "",
                isOwn: frame !== undefined && !isLibrary(frame),
                role: site.role,
                rank: site.rank ?? null,
                bytes: site.bytes,
                pids: [...(site.pids ?? [])],
                stacks: 1,
                largest: site,
            });
            return;
        }
        row.bytes += site.bytes;
        row.stacks += 1;
        row.pids = [...new Set([...row.pids, ...(site.pids ?? [])])].sort((a, b) => a - b);
        if (site.bytes > row.largest.bytes) row.largest = site;
    });
    return [...rows.values()].sort((a, b) => b.bytes - a.bytes);
}

/** The names of the frames of a stack, outermost first, for the flame graph and for the details of a row. */
export interface Frame {
    text: string;
    kind: "own" | "library" | "native";
}
export function framesOf(site: Site): Frame[] {
    const native = site.python.length > 0 ? calledFromPython(site.native) : site.native;
    return [
        ...[...site.python].reverse().map((frame): Frame => ({ text: pythonText(frame), kind: isLibrary(frame) ? "library" : "own" })),
        ...[...native].reverse().map((frame): Frame => ({ text: nativeText(frame), kind: "native" })),
    ];
}

/** The user's own frames that called the own line, innermost first, with the number of library frames between them. */
export function callers(site: Site): string[] {
    const words: string[] = [];
    const above = site.python.slice(ownFrame(site.python) + 1);
    for (let i = 0; i < above.length; ) {
        const frame = above[i] as PythonFrame;
        const library = isLibrary(frame);
        let end = i + 1;
        while (end < above.length && (library ? isLibrary(above[end] as PythonFrame) : pythonText(above[end] as PythonFrame) === pythonText(frame))) ++end;
        const times = end - i;
        words.push(library ? `${times} library frame${times === 1 ? "" : "s"}` : `${pythonText(frame)}${times > 1 ? ` \u00d7${times}` : ""}`);
        i = end;
    }
    return words;
}

export interface ChangedLine extends OwnLine {
    before: number;
    change: number;
}

/** The difference of two growths by own line. Largest change first, positive or negative. */
export function changedLines(before: readonly Site[], after: readonly Site[]): ChangedLine[] {
    const old = new Map(ownLines(before).map((row) => [row.key, row]));
    const rows: ChangedLine[] = ownLines(after).map((row) => {
        const was = old.get(row.key)?.bytes ?? 0;
        old.delete(row.key);
        return { ...row, before: was, change: row.bytes - was };
    });
    for (const row of old.values()) rows.push({ ...row, bytes: 0, before: row.bytes, change: -row.bytes });
    return rows.filter((row) => row.change !== 0).sort((a, b) => Math.abs(b.change) - Math.abs(a.change));
}
