import assert from "node:assert/strict";
import { test } from "node:test";
import { Timeline } from "../src/model/timeline.ts";

test("the whole run is shown at first, with room for the forecast", () => {
    const timeline = new Timeline(1000, 1600, 5);
    assert.deepEqual(timeline.span, { from: 1000, to: 1600 });
    timeline.ahead = 100;
    assert.deepEqual(timeline.span, { from: 1000, to: 1700 });
    timeline.ahead = 1e9;
    assert.deepEqual(timeline.span, { from: 1000, to: 2200 });
});

test("zooming keeps the time under the pointer, and never leaves the run", () => {
    const timeline = new Timeline(0, 1000, 5);
    timeline.zoom(250, 0.5);
    assert.deepEqual(timeline.span, { from: 125, to: 625 });
    timeline.zoom(0, 0.0001);
    assert.equal(timeline.span.to - timeline.span.from, 5);
    assert.ok(timeline.span.from >= 0);
    timeline.zoom(500, 1000);
    assert.equal(timeline.view.kind, "whole");
});

test("panning stops at the ends", () => {
    const timeline = new Timeline(0, 1000, 5);
    timeline.show(400, 600);
    timeline.pan(-10000);
    assert.deepEqual(timeline.span, { from: 0, to: 200 });
    timeline.pan(10000);
    assert.deepEqual(timeline.span, { from: 800, to: 1000 });
});

test("a live tail moves, a chosen span stays, a pause freezes", () => {
    const timeline = new Timeline(0, 1000, 5);
    timeline.tail(100);
    timeline.advance(1010);
    assert.deepEqual(timeline.span, { from: 910, to: 1010 });
    timeline.pause(true);
    timeline.advance(1020);
    assert.deepEqual(timeline.span, { from: 910, to: 1010 });
    assert.equal(timeline.moment, 1010);
    timeline.pause(false);
    assert.deepEqual(timeline.span, { from: 920, to: 1020 });
    assert.equal(timeline.moment, null);
    timeline.show(300, 400);
    timeline.advance(2000);
    assert.deepEqual(timeline.span, { from: 300, to: 400 });
});

test("seeking a time outside the view moves the view", () => {
    const timeline = new Timeline(0, 1000, 5);
    timeline.show(0, 100);
    timeline.seek(500);
    assert.equal(timeline.moment, 500);
    assert.deepEqual(timeline.span, { from: 450, to: 550 });
    timeline.pin(99999);
    assert.equal(timeline.moment, 1000);
});

test("listeners hear each change once", () => {
    const heard: string[] = [];
    const timeline = new Timeline(0, 1000, 5);
    timeline.listen((change) => heard.push(change));
    timeline.pin(10);
    timeline.pin(10);
    timeline.point(5);
    timeline.point(5);
    timeline.advance(1001);
    assert.deepEqual(heard, ["moment", "hover", "view"]);
});
