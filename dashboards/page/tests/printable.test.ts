import assert from "node:assert/strict";
import { test } from "node:test";
import { cut, detail, fileName, name, pathEnd, printable } from "../src/text/printable.ts";

test("controls and marks of direction are spelled out", () => {
    assert.equal(printable("evil\u202egnp.exe"), "evil\\u202egnp.exe");
    assert.equal(printable("a\u001b[2Jb\nc\td\u0085"), "a\\x1b[2Jb\\nc\\td\\x85");
    assert.equal(printable("\u2066\u200b\ufeff\u061c"), "\\u2066\\u200b\\ufeff\\u061c");
    assert.equal(printable("train épöch 日本 <b>&"), "train épöch 日本 <b>&");
});

test("long names are cut, also after they were escaped", () => {
    assert.equal(name("n".repeat(4096)).length, 80);
    assert.equal(name("\u202e".repeat(4096)).length, 80);
    assert.ok(detail("x".repeat(1e6)).length <= 600);
    assert.equal(cut("abcdef", 4), "abc…");
    assert.equal(cut("ab\ud83d\ude00cd", 4), "ab…");  // not half a character
});

test("of a path the end is kept", () => {
    assert.equal(pathEnd("/job/train.py", 40), "/job/train.py");
    assert.equal(pathEnd("/a/very/long/folder/for/a/job/train.py", 20), "…/for/a/job/train.py");
    assert.equal(fileName("/a/b/c.py"), "c.py");
    assert.equal(fileName("c.py"), "c.py");
});
