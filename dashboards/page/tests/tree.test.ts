import assert from "node:assert/strict";
import { test } from "node:test";
import type { Process, Tick } from "../src/data/types.ts";
import { ProcessHistory } from "../src/model/process_history.ts";
import { inheritedOf, processRows, roleText, shortCommand } from "../src/model/tree.ts";

function process(pid: number, parent: number, own: number, role = "trainer"): Process {
    return { pid, parent_pid: parent, start_time: 1, comm: `p${pid}`, role, own_anon_bytes: own, rss_anon_bytes: own + 5 };
}
const none = new Set<string>();

test("children follow their parents, the largest first", () => {
    const rows = processRows([process(3, 2, 10), process(1, 0, 1, "launcher"), process(2, 1, 5), process(4, 2, 90)], none, none);
    assert.deepEqual(
        rows.map((row) => [row.first.pid, row.depth]),
        [
            [1, 0],
            [2, 1],
            [4, 2],
            [3, 2],
        ],
    );
});

test("many children of one role are one row until it is unfolded", () => {
    const list = [process(1, 0, 1), ...Array.from({ length: 8 }, (_, i) => process(10 + i, 1, i, "dataloader_worker"))];
    const rows = processRows(list, none, none);
    assert.equal(rows.length, 2);
    assert.equal(rows[1]?.kind, "group");
    assert.equal(rows[1]?.processes.length, 8);
    assert.equal(processRows(list, new Set([rows[1]?.key as string]), none).length, 10);
    assert.equal(processRows(list, none, new Set(["1:1"])).length, 1);
});

test("a ring of parents ends, and each process is there once", () => {
    const rows = processRows([process(1, 2, 1), process(2, 1, 1), process(3, 3, 1)], none, none);
    assert.deepEqual(rows.map((row) => row.first.pid).sort(), [1, 2, 3]);
});

test("inherited memory is what is not its own; unknown stays unknown", () => {
    assert.equal(inheritedOf(process(1, 0, 10)), 5);
    assert.equal(inheritedOf({ ...process(1, 0, 10), own_anon_bytes: null }), null);
    assert.equal(roleText("dataloader_worker", 3), "dataloader worker 3");
    assert.equal(roleText("trainer", null), "trainer");
});

test("commands are shown without their folders", () => {
    assert.equal(shortCommand("/usr/bin/python3 -u /job/train.py --data /data/ x"), "python3 -u train.py --data /data/ x");
    assert.equal(shortCommand("a/b c"), "a/b c");
    assert.ok(shortCommand(`/${"x/".repeat(1e5)}y`).length <= 2000);
});

test("the history of a process is bounded and keeps its ends", () => {
    const history = new ProcessHistory(120, 50);
    const tick = (time: number, list: Process[]): Tick => ({ time, target: { name: "t" }, memory: {}, processes: list });
    for (let t = 0; t < 5000; ++t) history.add(tick(t, [process(1, 0, t)]));
    const points = history.of(process(1, 0, 0));
    assert.ok(points.length <= 121 && points.length > 40, String(points.length));
    assert.equal(points[0]?.time, 0);
    assert.equal(points[points.length - 1]?.time, 4999);
    for (let i = 1; i < points.length; ++i) assert.ok((points[i]?.time ?? 0) > (points[i - 1]?.time ?? 0));
    for (let pid = 100; pid < 400; ++pid) history.add(tick(6000, [process(pid, 0, 1)]));
    assert.equal(history.of(process(1, 0, 0)).length, 0);
});

test("ticks that come late are put in order, and the same tick counts once", () => {
    const history = new ProcessHistory();
    const tick = (time: number): Tick => ({ time, target: { name: "t" }, memory: {}, processes: [process(1, 0, time)] });
    for (const time of [5, 1, 3, 3]) history.add(tick(time));
    assert.deepEqual(history.of(process(1, 0, 0)).map((point) => point.time), [1, 3, 5]);
    assert.deepEqual(history.sum([process(1, 0, 0), process(2, 0, 0)]).length, 3);
});
