// The top of the page: what has happened or will happen, what to do, and five answers of one line each.
import type { Death, Forecast, Growth, Run, Summary, Tick, Verdict } from "../data/types.ts";
import { ownOf, roleText } from "../model/tree.ts";
import { clock, day, dayAndClock, inRun } from "../text/times.ts";
import { duration, percent, rate, size } from "../text/units.ts";
import { h, nameOf, replace, type Child } from "./dom.ts";
import { firstSentence, prose } from "./prose.ts";

interface Word {
    glyph: string;
    words: string;
    meaning: string;
}

const verdicts: Record<string, Word> = {
    leaking: { glyph: "\u25b2", words: "Leaking", meaning: "the floor keeps rising after the warm-up" },
    warming_up: { glyph: "\u25d0", words: "Warming up", meaning: "it has grown since its start; it is too early to call it a leak" },
    stable: { glyph: "\u25cf", words: "Stable", meaning: "the floor is flat" },
    spiky: { glyph: "\u25c6", words: "Spiky", meaning: "the floor is flat below recurring spikes" },
    insufficient: { glyph: "\u25cb", words: "Too early to tell", meaning: "there are too few ticks for a verdict" },
};

function wordOf(verdict: string | null | undefined): Word {
    return (verdict && Object.prototype.hasOwnProperty.call(verdicts, verdict) && verdicts[verdict]) || { glyph: "\u25cb", words: "No verdict", meaning: "nothing was judged" };
}

function ownerText(owner: string | null | undefined): string {
    if (!owner || owner === "own") return "its own limit";
    return owner === "host" ? "the memory of the host" : `the limit of ${owner}`;
}

export interface Facts {
    run: Run;
    summary: Summary;
    forecast: Forecast | null;
    ended: boolean;
    tick: Tick | null;
    growth: Growth | null;
}

export class VerdictView {
    readonly element: HTMLElement;
    private readonly spoken: HTMLElement;
    private readonly left: HTMLElement;
    private readonly main: HTMLElement;
    private readonly answers: HTMLElement;
    private shown = "";
    private told = "";
    private confirmed = 0;
    private facts: Facts | null = null;
    private readonly cells = new Map<string, { key: string; cell: HTMLElement }>();

    constructor() {
        this.spoken = h("p", { class: "hidden", "aria-live": "polite" });
        this.left = h("div", { class: "time-left" });
        this.main = h("div", { class: "verdict-main" });
        this.answers = h("dl", { class: "answers", "aria-label": "Five answers" });
        this.element = h("section", { id: "verdict", "aria-label": "Verdict" }, this.spoken, h("div", { class: "verdict-grid" }, this.main, this.left), this.answers);
    }

    update(facts: Facts): void {
        this.facts = facts;
        // The latest tick of a live run is drawn every second. Only elements that have changed are replaced.
        const { summary, forecast, ended, run } = facts;
        const answers = fiveAnswers(facts);
        const now = JSON.stringify([summary, forecast, ended, this.confirmed, answers.map((answer) => answer.key)]);
        if (now === this.shown) return;
        this.shown = now;
        const word = wordOf(summary.verdict);
        const death = this.lastDeath(facts);
        const [first, rest] = firstSentence(summary.sentence || word.meaning);
        this.element.dataset.verdict = summary.verdict ?? "none";
        this.element.dataset.dead = death ? "yes" : "no";
        // A screen reader announces only a new verdict or a death, because numbers change at each tick.
        const news = `${summary.verdict ?? ""} ${summary.deaths?.length ?? 0}`;
        if (news !== this.told) this.spoken.textContent = death ? death.text : `${word.words}. ${first}`;
        this.told = news;
        replace(
            this.main,
            death && deathBlock(death, summary.deaths ?? [], summary.deaths_left_out ?? 0, run, run.mode === "live" ? () => this.confirm() : null),
            h("p", { class: "verdict-word" }, h("span", { class: "glyph", "aria-hidden": "true" }, word.glyph), word.words, death ? h("span", { class: "verdict-before" }, "was the verdict") : null),
            h("h1", {}, prose(first)),
            rest && h("p", { class: "verdict-rest" }, prose(rest)),
            adviceBlock(summary.advice ?? []),
        );
        replace(this.left, ...timeLeft(facts, death));
        for (const answer of answers) this.writeAnswer(answer);
    }

    /** The last death. Of a live run: not a death that the user has confirmed, because the job may have been started again. */
    private lastDeath({ summary }: Facts): Death | null {
        const death = summary.deaths?.[summary.deaths.length - 1] ?? null;
        return death && death.time > this.confirmed ? death : null;
    }

    /** Confirms the death, which removes it from the top, as the key x does in the live view. */
    confirm(): void {
        const death = this.facts?.summary.deaths?.[this.facts.summary.deaths.length - 1];
        if (!death || !this.facts || this.facts.run.mode !== "live") return;
        this.confirmed = death.time;
        this.update(this.facts);
    }

    private writeAnswer(answer: Answer): void {
        let known = this.cells.get(answer.question);
        if (!known) {
            known = { key: "", cell: h("dd", {}) };
            this.cells.set(answer.question, known);
            this.answers.append(h("div", { class: "answer" }, h("dt", {}, h("a", { href: answer.link }, answer.question)), known.cell));
        }
        if (known.key === answer.key) return;
        known.key = answer.key;
        replace(known.cell, answer.text());
        known.cell.title = known.cell.textContent ?? "";
    }
}

function capital(text: string): string {
    return text.charAt(0).toUpperCase() + text.slice(1);
}

function deathBlock(death: Death, all: readonly Death[], leftOut: number, run: Run, confirm: (() => void) | null): HTMLElement {
    const more = all.length - 1 + leftOut;
    return h(
        "div",
        { class: "death" },
        h("p", { class: "death-text" }, h("span", { class: "glyph", "aria-hidden": "true" }, "\u2715"), prose(capital(death.text || `${death.comm} died: ${death.cause}`))),
        h("p", { class: "death-when" }, `${inRun(death.time, run.began, run.ended ?? death.time)}${more > 0 ? `, after ${more} other ${more === 1 ? "death" : "deaths"}` : ""}`),
        confirm && h("button", { type: "button", title: "x", click: confirm }, "Confirm"),
    );
}

function adviceBlock(advice: readonly string[]): Child {
    if (advice.length === 0) return null;
    return h("div", { class: "advice" }, h("h2", {}, "What to do"), h("ul", {}, ...advice.slice(0, 6).map((sentence) => h("li", {}, prose(sentence)))));
}

function dayIfLong(run: Run, time: number): string {
    return day(run.began) === day(time) ? "" : `${day(time)}, `;
}

function timeLeft({ forecast, ended, summary, run }: Facts, death: Death | null): Child[] {
    const big = (text: string, label: string, small: Child) => [h("p", { class: "time-label" }, label), h("p", { class: "time-big" }, text), h("p", { class: "time-small" }, small)];
    if (death && !(forecast && run.mode === "live" && !ended)) return big(clock(death.time), "It died at", `${dayIfLong(run, death.time)}${duration(Math.max(0, death.time - run.began))} after the first tick`);
    if (ended || run.mode !== "live") {
        const end = run.ended ?? null;
        if (!forecast) return end === null ? [] : big(clock(end), "The run ended at", `${dayIfLong(run, end)}${duration(end - run.began)} after the first tick, without a death`);
    }
    if (!forecast) {
        const limit = summary.limit_bytes;
        return big(
            "\u2013",
            "Time left",
            typeof limit === "number" ? `No limit is in reach: nothing grows towards ${ownerText(summary.limit_owner)} (${size(limit)}).` : "No limit is known that could end this job.",
        );
    }
    const { earliest_seconds: earliest, latest_seconds: latest } = forecast;
    const range =
        typeof earliest === "number" ? (typeof latest === "number" ? `between ${duration(earliest)} and ${duration(latest)}, ` : `${duration(earliest)} at the earliest, `) : "";
    const basis = forecast.basis === "leak" ? "if the leak continues" : forecast.basis === "warmup" ? "if the warm-up continues" : "by the trend of the last seconds";
    return big(
        duration(forecast.eta_seconds),
        ended || run.mode !== "live" ? "Left at the last tick" : "Time left",
        `${range}until ${ownerText(forecast.limit_owner)} (${size(forecast.limit_bytes)}) is reached, ${basis}.`,
    );
}

interface Answer {
    question: string;
    link: string;
    key: string;
    text: () => Child;
}

function targetVerdict(tick: Tick | null): Verdict | null {
    return tick?.verdicts?.find((each) => each.scope === "target") ?? tick?.verdicts?.[0] ?? null;
}

function fiveAnswers({ run, summary, forecast, tick, growth, ended }: Facts): Answer[] {
    const verdict = targetVerdict(tick);
    const plain = (question: string, link: string, text: string): Answer => ({ question, link, key: text, text: () => prose(text) });
    const death = summary.deaths?.[summary.deaths.length - 1];
    return [
        whichProcess(tick, verdict),
        plain("Is it a leak?", "#held", leakAnswer(summary)),
        plain("What grew, and which container holds it?", "#growth", growth?.sentence || verdict?.holders || (verdict?.lines?.keeps ? `${verdict.lines.most} keeps most of it.` : "No line and no holder is known.")),
        plain(
            "When does it die?",
            "#held",
            death && !(forecast && run.mode === "live" && !ended)
                ? `It died at ${dayAndClock(death.time)}.`
                : forecast
                  ? `In ${duration(forecast.eta_seconds)}${ended || run.mode !== "live" ? " after the last tick" : ""}, at ${ownerText(forecast.limit_owner)} (${size(forecast.limit_bytes)}).`
                  : "Nothing grows towards a limit.",
        ),
        plain("Why did it die?", "#events", death ? capital(firstSentence(death.text || death.cause)[0]) : ended || run.mode !== "live" ? "Nothing of it was killed." : "It is alive."),
    ];
}

function leakAnswer(summary: Summary): string {
    const word = wordOf(summary.verdict);
    const slope = summary.slope_bytes_per_second;
    if (summary.verdict === "leaking" && typeof slope === "number") return `Yes: the floor rises by ${rate(slope)}.`;
    if (summary.verdict === "stable" || summary.verdict === "spiky") return `No: ${word.meaning}.`;
    return `Not known: ${word.meaning}.`;
}

function whichProcess(tick: Tick | null, verdict: Verdict | null): Answer {
    const question = "Which process?";
    const link = "#processes";
    const grower = verdict?.grower;
    if (grower) {
        const tail = ` (pid ${grower.pid}) grew by ${size(grower.grown_bytes)} in ${duration(grower.over_seconds)}.`;
        return { question, link, key: `${grower.comm}${tail}`, text: () => h("span", {}, `${roleText(grower.role, grower.rank)}: `, nameOf(grower.comm, 40), tail) };
    }
    const largest = [...(tick?.processes ?? [])].sort((a, b) => (ownOf(b) ?? 0) - (ownOf(a) ?? 0))[0];
    if (!largest) return { question, link, key: "none", text: () => "No process is there at this moment." };
    const all = (tick?.processes ?? []).reduce((sum, each) => sum + (ownOf(each) ?? 0), 0);
    const own = ownOf(largest) ?? 0;
    const tail = ` (pid ${largest.pid}) holds most: ${size(own)}${all > 0 ? `, ${percent(own / all)}` : ""}.`;
    return { question, link, key: `${largest.comm}${tail}`, text: () => h("span", {}, `${roleText(largest.role, largest.rank)}: `, nameOf(largest.comm, 40), tail) };
}
