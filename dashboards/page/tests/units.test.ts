import assert from "node:assert/strict";
import { test } from "node:test";
import { change, count, countChange, duration, percent, rate, size, sizeTicks } from "../src/text/units.ts";
import { axisTime, inRun, timeTicks } from "../src/text/times.ts";

const GiB = 1024 ** 3;

// By the rules of userspace/base/units.cpp: a size reads the same in the terminal and in the page.
test("sizes read as memscope prints them", () => {
    const pairs: [number, string][] = [
        [0, "0 B"],
        [1, "1 B"],
        [1023, "1023 B"],
        [1024, "1.0 KiB"],
        [10 * 1024, "10 KiB"],
        [1023.6 * 1024, "1.0 MiB"],
        [416 * 1024 ** 2, "416 MiB"],
        [1.5 * GiB, "1.5 GiB"],
        [12 * GiB, "12 GiB"],
        [3 * 1024 * GiB, "3.0 TiB"],
        [-2048, "\u22122.0 KiB"],
    ];
    for (const [bytes, text] of pairs) assert.equal(size(bytes), text);
});

test("a change has its sign, and 0 has none", () => {
    assert.equal(change(1024), "+1.0 KiB");
    assert.equal(change(-1024), "\u22121.0 KiB");
    assert.equal(change(0), "0 B");
    assert.equal(countChange(1605), "+1,605");
    assert.equal(countChange(-3), "\u22123");
});

test("rates are per hour, and per minute where they are fast", () => {
    assert.equal(rate((100 * 1024 ** 2) / 3600), "100 MiB/h");
    assert.equal(rate((488 * 1024 ** 2) / 60), "488 MiB/min");
    assert.equal(rate(-1024), "\u22123.5 MiB/h");
});

test("durations", () => {
    assert.equal(duration(0.25), "250 ms");
    assert.equal(duration(119), "119 s");
    assert.equal(duration(600), "10 min");
    assert.equal(duration(9000), "2.5 h");
    assert.equal(duration(5 * 86400), "5.0 days");
});

test("small shares are not shown as none", () => {
    assert.equal(percent(0.004), "<1 %");
    assert.equal(percent(0), "0 %");
    assert.equal(percent(0.985), "99 %");
    assert.equal(count(1234567), "1,234,567");
});

test("ticks of sizes are round in their unit, and not too many", () => {
    for (const high of [900, 5000, 3e6, 7.7e8, 3.3 * GiB, 85 * GiB, 2e12]) {
        const ticks = sizeTicks(0, high, 6);
        assert.ok(ticks.length >= 2 && ticks.length <= 13, `${high}: ${ticks.length}`);
        assert.equal(ticks[0], 0);
        assert.ok((ticks[ticks.length - 1] as number) <= high);
    }
    assert.deepEqual(sizeTicks(0, 3.2 * GiB, 4), [0, GiB, 2 * GiB, 3 * GiB]);
    assert.deepEqual(sizeTicks(5, 5, 4), []);
});

test("ticks of times are round, inside the span, and not too many", () => {
    const from = 1763388007;
    for (const length of [3, 60, 1800, 86400, 30 * 86400]) {
        const ticks = timeTicks(from, from + length, 8);
        assert.ok(ticks.length >= 1 && ticks.length <= 9, `${length}: ${ticks.length}`);
        for (const tick of ticks) assert.ok(tick >= from && tick <= from + length);
    }
    assert.deepEqual(timeTicks(5, 5, 8), []);
});

test("an axis shows seconds only where they differ", () => {
    assert.match(axisTime(1763388007, 60), /^\d\d:\d\d:\d\d$/);
    assert.match(axisTime(1763388060, 3600), /^\d\d:\d\d$/);
    assert.match(inRun(1763388007, 1763388000, 1763388100), /^\d\d:\d\d:\d\d$/);
    assert.match(inRun(1763388007, 1763388000, 1763388000 + 3 * 86400), /^\d{4}-\d\d-\d\d \d\d/);
});
