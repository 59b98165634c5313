import assert from "node:assert/strict";
import { test } from "node:test";
import type { Curves } from "../src/data/types.ts";
import { finest } from "../src/data/embedded.ts";
import { lastBefore } from "../src/data/source.ts";
import { append, copyOf, highest, indexAt, lastKnown, lowest, seriesOf, stacked } from "../src/model/columns.ts";

function curves(): Curves {
    return {
        from: 0,
        to: 3,
        bin: 1,
        time: [0, 1, 2],
        complete: true,
        series: [
            { id: "held", label: "held", group: "main", low: [1, 2, 3], high: [2, 3, 4], mean: [1.5, 2.5, 3.5] },
            { id: "kind:anon", label: "anon", group: "kind", mean: [1, null, 3] },
        ],
    };
}

test("a live tick is a bin of its own; a new series begins with unknown values", () => {
    const all = curves();
    append(all, { time: 3, held: 9, kinds: { anon: 5, shmem: 2 }, gpus: { "0": { used: 7 } } });
    assert.deepEqual(all.time, [0, 1, 2, 3]);
    assert.deepEqual(seriesOf(all, "held")?.high, [2, 3, 4, 9]);
    assert.deepEqual(seriesOf(all, "kind:shmem")?.mean, [null, null, null, 2]);
    assert.deepEqual(seriesOf(all, "gpu:0:used")?.mean, [null, null, null, 7]);
    assert.equal(seriesOf(all, "gpu:0:used")?.group, "gpu");
    for (const series of all.series) assert.equal((series.mean ?? []).length, 4, series.id);
});

test("a tick that is there already is not added again", () => {
    const all = curves();
    append(all, { time: 2, held: 9 });
    assert.equal(all.time.length, 3);
});

test("a copy does not change its original", () => {
    const original = curves();
    append(copyOf(original), { time: 3, held: 9 });
    assert.deepEqual(original, curves());
});

test("stacked parts add up, and unknown is not 0", () => {
    const part = (id: string, mean: (number | null)[]) => ({ id, label: id, group: "kind", mean });
    const stack = stacked([part("a", [1, null, null]), part("b", [10, 20, null])], 8, "rest");
    assert.deepEqual(stack.sums, [
        [1, null, null],
        [11, 20, null],
    ]);
});

test("the smallest parts are one part, so that nothing is missing from the sum", () => {
    const parts = Array.from({ length: 12 }, (_, i) => ({ id: `r${i}`, label: `r${i}`, group: "role", mean: [i + 1] }));
    const stack = stacked(parts, 4, "other roles");
    assert.deepEqual(stack.labels, ["r11", "r10", "r9", "other roles"]);
    assert.equal(stack.sums[3]?.[0], 78);
});

test("searching", () => {
    assert.equal(indexAt([1, 2, 4], 3), 1);
    assert.equal(indexAt([1, 2, 4], 0), -1);
    assert.equal(indexAt([1, 2, 4], 4), 2);
    assert.equal(highest([null, 3, 1]), 3);
    assert.equal(lowest([null, 3, 1]), 1);
    assert.equal(highest([null]), null);
    assert.equal(lastKnown([1, 2, null]), 2);
});

test("a census or growth of a later time is never shown for an earlier one", () => {
    const list = [{ at: 10 }, { at: 20 }];
    const at = (time: number | null) => lastBefore(list, (each) => each.at, time);
    assert.equal(at(9), null);
    assert.deepEqual(at(10), { at: 10 });
    assert.deepEqual(at(15), { at: 10 });
    assert.deepEqual(at(null), { at: 20 });
});

test("a report shows the finest curves that cover the span", () => {
    const whole = { ...curves(), from: 0, to: 1000, bin: 10 };
    const near = { ...curves(), from: 400, to: 600, bin: 1 };
    assert.equal(finest([whole, near], 450, 550), near);
    assert.equal(finest([whole, near], 300, 550), whole);
    assert.equal(finest([], 0, 1), null);
});
