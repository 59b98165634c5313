// Joins the data, the timeline and the views.
import { Latest } from "../data/latest.ts";
import type { Source } from "../data/source.ts";
import type { Curves, Forecast, Growth, Live, LiveTick, Run, RunEvent, Summary, Tick } from "../data/types.ts";
import { append, copyOf, middle, seriesOf } from "../model/columns.ts";
import { Timeline } from "../model/timeline.ts";
import { name } from "../text/printable.ts";
import { clock, inRun } from "../text/times.ts";
import { size } from "../text/units.ts";
import { Bar } from "./bar.ts";
import { h, setText } from "./dom.ts";
import { EventView } from "./events.ts";
import { GpuView } from "./gpus.ts";
import { GrowthView } from "./growth.ts";
import { HeapView } from "./heap.ts";
import { HeldView } from "./held.ts";
import { Help } from "./help.ts";
import { ProcessView } from "./processes.ts";
import { StackView } from "./stacks.ts";
import { toggleTheme } from "./theme.ts";
import { VerdictView } from "./verdict.ts";

// Bounds on the data of the page, because it can stay open for days.
const mostEvents = 2000;
const mostAppended = 300;
const sparkTicks = 24;
const embeddedTicks = 120;
const secondsBetweenGrowth = 15;
const secondsBetweenRuns = 30;

function peakSentence(summary: Summary, run: Run): string {
    const { peak_bytes: peak, peak_time: time, kernel_peak_bytes: kernel } = summary;
    const texts: string[] = [];
    if (typeof peak === "number") texts.push(`Highest tick: ${size(peak)}${typeof time === "number" ? ` at ${inRun(time, run.began, run.ended ?? time)}` : ""}.`);
    if (typeof kernel === "number") texts.push(`The kernel's high-water mark, with page cache: ${size(kernel)}.`);
    return texts.join(" ");
}

export class App {
    private readonly timeline: Timeline;
    private readonly verdict = new VerdictView();
    private readonly held: HeldView;
    private readonly kinds: StackView;
    private readonly roles: StackView;
    private readonly processes = new ProcessView();
    private readonly events: EventView;
    private readonly growth: GrowthView;
    private readonly heap: HeapView;
    private readonly gpus: GpuView;
    private readonly help = new Help();
    private readonly bar: Bar;
    private readonly trouble = h("p", { class: "trouble-line", role: "status" });

    private readonly reading = h("p", { class: "note", role: "status" });

    private summary: Summary;
    private forecast: Forecast | null;
    private list: RunEvent[];
    private ended: boolean;
    private curves: Curves | null = null;
    private appended = 0;
    private tick: Tick | null = null;
    private latestTick: Tick | null = null;
    private latestGrowth: Growth | null = null;
    private growthAsked = 0;
    private runAsked = Date.now() / 1000;
    private heapTime = 0;

    private readonly askCurves: Latest<Curves>;
    private readonly askTick: Latest<Tick | null>;

    constructor(
        private readonly source: Source,
        private readonly run: Run,
        private early: Promise<Curves> | null = null,  // requested before the answer about the run arrived
    ) {
        this.summary = run.summary;
        this.forecast = run.forecast ?? null;
        this.list = run.events.slice(-mostEvents);
        this.ended = run.mode !== "live" || typeof run.ended === "number";
        const newest = run.ended ?? run.last ?? run.began + Math.max(1, run.ticks - 1) * run.interval;
        this.timeline = new Timeline(run.began, newest, Math.max(5 * run.interval, 2));
        this.lookAhead();
        const { timeline } = this;
        this.held = new HeldView(timeline);
        this.kinds = new StackView(timeline, {
            id: "kinds",
            title: "What kind of memory?",
            group: "kind",
            note: "Parts of what is used. Page cache (file) can be reclaimed.",
            absent: "No kinds were recorded in this span.",
            rest: "other kinds",
        });
        this.roles = new StackView(timeline, {
            id: "roles",
            title: "Which role?",
            group: "role",
            note: "Own memory: each page counts once. An inherited page counts for the process that it came from.",
            absent: "No process was seen in this span.",
            rest: "other roles",
            largestFirst: true,
            label: (series) => series.label.replace(/_/g, " "),
        });
        this.events = new EventView(timeline);
        this.growth = new GrowthView(source, run, timeline, (growth) => this.gotGrowth(growth));
        this.heap = new HeapView(source, run, timeline);
        this.gpus = new GpuView(timeline);
        this.bar = new Bar(run, timeline, {
            theme: () => toggleTheme(),
            help: () => this.help.toggle(),
            limit: () => this.held.toggleLimit(),
            zero: () => this.held.toggleZero(),
        });
        this.askCurves = new Latest(
            (signal) => this.fetchCurves(signal),
            (curves) => this.gotCurves(curves),
            (error) => this.failed(error),
            120,
        );
        this.askTick = new Latest(
            (signal) => this.fetchTick(signal),
            (tick) => this.gotTick(tick),
            (error) => this.failed(error),
            80,
        );
    }

    start(body: HTMLElement): void {
        document.title = `${name(this.run.target, 80)} \u2013 memscope`;
        body.replaceChildren(
            h("a", { class: "skip", href: "#held" }, "Skip to the curve"),
            this.bar.element,
            h(
                "main",
                {},
                this.trouble,
                this.verdict.element,
                this.held.element,
                this.reading,
                h("div", { class: "pair" }, this.kinds.element, this.roles.element),
                h("div", { class: "pair pair-uneven" }, this.processes.element, this.events.element),
                this.growth.element,
                this.heap.element,
                this.gpus.element,
            ),
            this.help.element,
            this.footer(),
        );
        this.events.update(this.list);
        this.drawVerdict();
        // If the run has ended with a death, the tables first show the moment of this death.
        const death = this.summary.deaths?.[this.summary.deaths.length - 1];
        if (this.ended && death) this.timeline.pin(death.time);
        this.timeline.listen((change) => {
            if (change === "view") this.viewChanged();
            if (change === "moment") {
                this.askTick.soon();
                this.growth.ask();
                this.heap.ask();
            }
        });
        this.askCurves.now();
        this.askTick.now();
        this.growth.ask();
        this.heap.ask();
        void this.fillSparklines();
        document.addEventListener("keydown", (event) => this.key(event));
        if (this.run.mode === "live") void this.follow();
    }

    private footer(): HTMLElement {
        const { run } = this;
        return h(
            "footer",
            {},
            h("span", {}, run.version ? `memscope ${run.version}` : "memscope"),
            run.history ? h("span", {}, run.history) : null,
            this.source.asks ? h("a", { href: "/licences.txt" }, "Licences") : null,
            h("span", { class: "keys-hint" }, "Press ? for the keys."),
        );
    }

    // --- curves ---

    private fetchCurves(signal: AbortSignal): Promise<Curves> {
        const { early } = this;
        this.early = null;
        if (early) return early;
        const { span, view } = this.timeline;
        const width = Math.min(2000, Math.max(200, Math.round(this.held.element.clientWidth)));
        const whole = view.kind === "whole" && !this.timeline.paused;
        return this.source.curves(whole ? null : span.from, whole ? null : Math.min(span.to, this.timeline.last), width, signal);
    }

    private gotCurves(curves: Curves): void {
        this.curves = copyOf(curves);
        this.appended = 0;
        this.works();
        this.drawCurves();
        setText(this.reading, curves.complete ? "" : "memscope is still reading older ticks: the curves below are not complete yet.");
        // memscope is still reading older ticks, so the page requests the curves again.
        if (!curves.complete) setTimeout(() => this.askCurves.soon(), 900);
    }

    private drawCurves(): void {
        const { curves } = this;
        if (!curves) return;
        this.held.update(curves, {
            phases: this.run.phases,
            events: this.list,
            forecast: this.shownForecast,
            limitOwner: this.summary.limit_owner ?? "",
            peak: peakSentence(this.summary, this.run),
        });
        this.kinds.update(curves);
        this.roles.update(curves);
        this.gpus.update(curves, this.tick);
    }

    private viewChanged(): void {
        // Draws the bins that are known at once; the finer bins follow. A few new ticks at the end need no request.
        if (this.appending && this.appended < mostAppended) return;
        this.askCurves.soon();
    }
    private appending = false;

    // --- the moment ---

    /** The tick at the chosen moment. Without one: the last tick, or of an ended run the last tick that has processes. */
    private async fetchTick(signal: AbortSignal): Promise<Tick | null> {
        const { moment } = this.timeline;
        const tick = await this.source.tick(moment, signal);
        if (moment !== null || !this.ended || !tick || tick.processes.length > 0) return tick;
        const { curves, run } = this;
        const counts = curves ? middle(seriesOf(curves, "processes")) : [];
        const living = counts.map((count, i) => ((count ?? 0) > 0 ? i : -1)).reduce((a, b) => Math.max(a, b), -1);
        const death = this.summary.deaths?.[this.summary.deaths.length - 1]?.time;
        for (const at of [death === undefined ? undefined : death - run.interval / 2, curves?.time[living]]) {
            const before = at === undefined ? null : await this.source.tick(at, signal);
            if (before && before.processes.length > 0) return before;
        }
        return tick;
    }

    private gotTick(tick: Tick | null): void {
        this.tick = tick;
        if (this.tellsAnswers(this.latestTick)) this.latestTick = tick;
        this.works();
        this.processes.update(tick);
        this.heap.update(tick);
        if (this.curves) this.gpus.update(this.curves, tick);
        this.drawVerdict();
        const newest = Math.max(0, ...(tick?.heap ?? []).map((each) => (typeof each.objects === "object" ? (each.objects?.time ?? 0) : 0)));
        if (newest > this.heapTime && this.timeline.moment === null && this.heapTime > 0) this.heap.ask();
        this.heapTime = Math.max(this.heapTime, newest);
    }

    /** The answers at the top are about the latest moment, or about the moment of the death if the run ended with a death. */
    private tellsAnswers(known: Tick | Growth | null): boolean {
        if (this.ended && (this.summary.deaths?.length ?? 0) > 0) return known === null;
        return this.timeline.moment === null || known === null;
    }

    private gotGrowth(growth: Growth | null): void {
        if (this.tellsAnswers(this.latestGrowth)) this.latestGrowth = growth;
        this.drawVerdict();
    }

    private drawVerdict(): void {
        this.verdict.update({
            run: this.run,
            summary: this.summary,
            forecast: this.forecast,
            ended: this.ended,
            tick: this.latestTick ?? this.tick,
            growth: this.latestGrowth,
        });
    }

    /** Requests a few ticks of the whole run, so that each process has a curve. */
    private async fillSparklines(): Promise<void> {
        const { began } = this.timeline;
        const { last } = this.timeline;
        const wanted = this.source.asks ? sparkTicks : embeddedTicks;
        for (let i = 0; i < wanted; ++i) {
            try {
                const tick = await this.source.tick(began + ((last - began) * i) / (wanted - 1), new AbortController().signal);
                if (tick) this.processes.history.add(tick);
            } catch {
                return;  // the small curves then have fewer points
            }
        }
        this.processes.update(this.tick);
    }

    // --- live ---

    /** A run that has ended with a death has no forecast. */
    private get shownForecast(): Forecast | null {
        return this.ended && (this.summary.deaths?.length ?? 0) > 0 ? null : this.forecast;
    }

    private lookAhead(): void {
        const forecast = this.shownForecast;
        this.timeline.ahead = forecast ? (forecast.latest_seconds ?? forecast.eta_seconds) * 1.08 : 0;
    }

    private async follow(): Promise<void> {
        const wait = Math.max(250, this.run.interval * 1000);
        let after = this.timeline.last;
        let silence = 0;
        while (!this.ended) {
            await new Promise((done) => setTimeout(done, document.hidden ? Math.max(wait, 5000) : wait));
            try {
                const live = await this.source.live(after, AbortSignal.timeout ? AbortSignal.timeout(20000) : new AbortController().signal);
                after = Math.max(after, ...live.ticks.map((tick) => tick.time));
                silence = 0;
                this.works();
                if (this.summary.verdict !== live.summary.verdict || Date.now() / 1000 - this.runAsked > secondsBetweenRuns) await this.askRun();
                this.gotLive(live);
            } catch (error) {
                silence = silence || Date.now() / 1000;
                this.failed(error, silence);
                await new Promise((done) => setTimeout(done, 2000));
            }
        }
    }

    /** Requests phases and the times of growth and censuses. They change rarely. */
    private async askRun(): Promise<void> {
        this.runAsked = Date.now() / 1000;
        const run = await this.source.run();
        this.run.phases = run.phases;
        this.run.growth_times.splice(0, Infinity, ...run.growth_times.slice(-mostEvents));
        this.run.heap_times.splice(0, Infinity, ...run.heap_times.slice(-mostEvents));
    }

    private gotLive(live: Live): void {
        // A new verdict needs the growth that belongs to it, so growth is requested at once.
        if (live.summary.verdict !== this.summary.verdict) this.growthAsked = 0;
        this.summary = this.run.summary = live.summary;
        this.forecast = live.forecast ?? null;
        this.ended = live.ended;
        const next = live.ticks[0];
        if (next && this.run.interval <= 0) this.run.interval = Math.max(0, next.time - this.timeline.last);
        if (live.ended) this.run.ended = Math.max(this.timeline.last, ...live.ticks.map((tick) => tick.time));
        this.lookAhead();
        if (live.events.length > 0) {
            const last = this.list[this.list.length - 1]?.time ?? 0;
            const seen = new Set(this.list.filter((event) => event.time >= last - 5).map((event) => `${event.time} ${event.text}`));
            this.list = [...this.list, ...live.events.filter((event) => !seen.has(`${event.time} ${event.text}`))].slice(-mostEvents);
            this.events.update(this.list);
        }
        this.bar.update(this.ended);
        const newest = live.ticks[live.ticks.length - 1];
        if (newest) {
            // The last phase continues until a new answer about the run changes it.
            const phase = this.run.phases[this.run.phases.length - 1];
            if (phase && phase.kind === "leak") phase.to = Math.max(phase.to, newest.time);
            if (!this.timeline.paused) this.appendTicks(live.ticks);
            this.appending = true;
            this.timeline.advance(newest.time);
            this.appending = false;
            if (!this.timeline.paused) this.drawCurves();
        }
        if (this.timeline.moment === null && !document.hidden) {
            if (!this.askTick.busy) this.askTick.now();
            const now = Date.now() / 1000;
            if (now - this.growthAsked > secondsBetweenGrowth) {
                this.growthAsked = now;
                this.growth.ask();
                if (this.heapTime === 0) this.heap.ask();
            }
        }
        this.drawVerdict();
    }

    /** Adds new ticks to the curves. After a gap the page requests the curves again. A hidden page has gaps: it asks rarely. */
    private appendTicks(ticks: readonly LiveTick[]): void {
        const { curves } = this;
        const last = curves?.time[curves.time.length - 1];
        const first = ticks[0];
        if (!curves || last === undefined || !first) return;
        if (first.time - last > Math.max(3 * curves.bin, 5 * this.run.interval)) {
            if (this.timeline.view.kind !== "span") this.askCurves.soon();
            return;
        }
        for (const tick of ticks) append(curves, tick);
        this.appended += ticks.length;
    }

    // --- trouble ---

    private works(): void {
        setText(this.trouble, "");
    }
    private failed(error: unknown, since?: number): void {
        if (error instanceof DOMException && error.name === "AbortError") return;
        const said = error instanceof TypeError || (error instanceof DOMException && error.name === "TimeoutError") ? "memscope web does not answer." : error instanceof Error ? error.message : "memscope web does not answer.";
        setText(this.trouble, `${said} ${since ? `Since ${clock(since)} the page shows` : "The page shows"} the last data that it got.`);
    }

    // --- keys ---

    private key(event: KeyboardEvent): void {
        if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
        const { target } = event;
        if (target instanceof HTMLInputElement || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement) return;
        const { timeline } = this;
        const { from, to } = timeline.span;
        const around = timeline.hover ?? timeline.moment ?? timeline.last;
        const inView = around >= from && around <= to ? around : (from + to) / 2;
        const jump = (direction: 1 | -1) => {
            const found = this.events.next(timeline.moment ?? (direction > 0 ? from : Infinity), direction);
            if (!found) return;
            timeline.seek(found.time);
            timeline.point(found.time);
        };
        const keys: Record<string, () => void> = {
            "?": () => this.help.toggle(),
            "+": () => timeline.zoom(inView, 0.5),
            "=": () => timeline.zoom(inView, 0.5),
            "-": () => timeline.zoom(inView, 2),
            "0": () => timeline.whole(),
            n: () => jump(1),
            p: () => jump(-1),
            t: () => toggleTheme(),
            l: () => this.held.toggleLimit(),
            z: () => this.held.toggleZero(),
            g: () => this.growth.toggleFlame(),
            x: () => this.verdict.confirm(),
            " ": () => this.run.mode === "live" && timeline.pause(!timeline.paused),
            Escape: () => (this.help.isOpen ? this.help.toggle() : timeline.pin(null)),
        };
        let action = keys[event.key];
        if (event.shiftKey && event.key === "ArrowLeft") action = () => timeline.pan((from - to) / 4);
        if (event.shiftKey && event.key === "ArrowRight") action = () => timeline.pan((to - from) / 4);
        // A space or Enter on a button presses it.
        if (!action || (event.key === " " && target instanceof HTMLElement && target.closest("button, summary, a"))) return;
        event.preventDefault();
        action();
    }
}
