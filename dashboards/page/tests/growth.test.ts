import assert from "node:assert/strict";
import { test } from "node:test";
import type { PythonFrame, Site } from "../src/data/types.ts";
import { boxAt, flameTree, layout } from "../src/model/flame.ts";
import { callers, calledFromPython, changedLines, framesOf, isLibrary, ownLines } from "../src/model/own_lines.ts";

function frame(name: string, file: string, line: number): PythonFrame {
    return { function: name, file, line };
}
const torch = frame("stack", "/usr/lib/python3.11/site-packages/torch/functional.py", 10);
const validate = frame("validate", "/job/train.py", 60);
const epoch = frame("run_epoch", "/job/train.py", 88);
const main = frame("<module>", "/job/train.py", 120);
function site(bytes: number, python: PythonFrame[], more: Partial<Site> = {}): Site {
    return { bytes, role: "trainer", rank: 0, pids: [1], python, native: [], ...more };
}

// The rules are those of userspace/analysis/growth/attribution.cpp, so that the page and the program name the same line.
test("library code is distinguished from the user's own", () => {
    const library = (file: string) => isLibrary(frame("f", file, 1));
    for (const file of [
        "/usr/lib/python3.11/json/decoder.py",
        "/opt/venv/lib/python3.12/site-packages/torch/nn.py",
        "/usr/lib/python3/dist-packages/numpy/core.py",
        "/opt/app/python311.zip/os.py",
        "/usr/lib64/python3.13t/os.py",
        "/tmp/torchinductor_root/ab/cd.py",
        "<frozen importlib._bootstrap>",
        "<__array_function__ internals>",
        "<eval_with_key>.7",
    ])
        assert.ok(library(file), file);
    for (const file of ["/job/lib/python_tools/a.py", "/job/my-site-packages/a.py", "<string>", "<stdin>", "/job/train.py", "/usr/lib/python3/own.py", ""]) assert.ok(!library(file), file);
});

test("one row for each own line: the stacks below it add up", () => {
    const rows = ownLines([site(60, [torch, validate, epoch, main]), site(30, [validate, epoch, main], { pids: [2] }), site(50, [epoch, main])]);
    assert.deepEqual(
        rows.map((row) => [row.line, row.bytes, row.stacks]),
        [
            ["validate (train.py:60)", 90, 2],
            ["run_epoch (train.py:88)", 50, 1],
        ],
    );
    assert.deepEqual(rows[0]?.pids, [1, 2]);
    assert.equal(rows[0]?.largest.bytes, 60);
});

test("roles and ranks are rows of their own, and so are native stacks", () => {
    const native = { python: [], native: [{ symbol: "alloc", module: "/lib/x.so", offset: 1 }, { symbol: "main", module: "/bin/x", offset: 1 }] };
    const rows = ownLines([site(1, [validate]), site(2, [validate], { rank: 1 }), site(4, [], native), site(8, [], { ...native, native: [native.native[0] as never] })]);
    assert.equal(rows.length, 4);
    assert.equal(rows[0]?.line, "alloc");
});

test("callers are the user's own frames, with library frames counted", () => {
    assert.deepEqual(callers(site(1, [torch, validate, torch, torch, epoch, epoch, main])), ["2 library frames", "run_epoch (train.py:88) ×2", "<module> (train.py:120)"]);
});

test("the interpreter itself is not part of a stack", () => {
    const names = (...symbols: string[]) => symbols.map((symbol) => ({ symbol, module: "/m", offset: 0 }));
    assert.equal(calledFromPython(names("mmap", "malloc", "_PyEval_EvalFrameDefault", "main")).length, 2);
    assert.equal(calledFromPython([{ symbol: "mmap", module: "/lib/libc.so.6" }, { symbol: null, module: "/usr/bin/python3.11", offset: 5 }]).length, 1);
    const frames = framesOf(site(1, [validate, main], { native: names("mmap", "_PyEval_EvalFrameDefault") }));
    assert.deepEqual(
        frames.map((each) => each.text),
        ["<module> (train.py:120)", "validate (train.py:60)", "mmap"],
    );
});

test("a difference has what grew, what shrank and what is gone", () => {
    const rows = changedLines([site(100, [validate]), site(50, [epoch]), site(7, [main])], [site(160, [validate]), site(20, [epoch]), site(7, [main])]);
    assert.deepEqual(
        rows.map((row) => [row.line, row.before, row.bytes, row.change]),
        [
            ["validate (train.py:60)", 100, 160, 60],
            ["run_epoch (train.py:88)", 50, 20, -30],
        ],
    );
    const gone = changedLines([site(100, [validate])], []);
    assert.deepEqual([gone[0]?.bytes, gone[0]?.change], [0, -100]);
});

test("a flame graph: children are inside their callers and add up to at most them", () => {
    const root = flameTree([site(60, [torch, validate, main]), site(30, [validate, main]), site(10, [epoch, main]), site(-5, [main])]);
    assert.equal(root.bytes, 100);
    const boxes = layout(root, 0);
    for (const box of boxes)
        if (box.parent) {
            assert.ok(box.left >= box.parent.left - 1e-9);
            assert.ok(box.left + box.width <= box.parent.left + box.parent.width + 1e-9);
            assert.equal(box.depth, box.parent.depth + 1);
        }
    assert.equal(boxAt(boxes, 0.1, 2)?.node.text, "validate (train.py:60)");
    assert.equal(boxAt(boxes, 0.95, 2)?.node.text, "run_epoch (train.py:88)");
    assert.equal(boxAt(boxes, 0.95, 3), null);
    assert.ok(layout(root, 0.2).every((box) => box.width >= 0.2));
});

test("an empty or endless stack does not break the layout", () => {
    assert.deepEqual(layout(flameTree([]), 0), []);
    const deep = Array.from({ length: 5000 }, (_, i) => frame(`f${i}`, "/job/a.py", i + 1));
    assert.ok(layout(flameTree([site(1, deep)]), 0).length <= 201);
});
