#include "analysis/verdict/verdict.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/verdict/hysteresis.h"
#include "analysis/verdict/leak.h"
#include "analysis/verdict/restart.h"
#include "analysis/verdict/saturation.h"
#include "analysis/verdict/spikes.h"

namespace memscope {
namespace {

constexpr std::size_t kFewestSamples = 5;

Bytes bytes_of(double value) {
    constexpr double kMost = 1.8e19;  // just below the largest 64-bit value
    return {static_cast<std::uint64_t>(std::clamp(std::round(value), 0.0, kMost))};
}

std::uint64_t samples_in(std::span<const Bin> bins) {
    std::uint64_t n = 0;
    for (const Bin& bin : bins) n += bin.count;
    return n;
}

Bytes highest_since(std::span<const Bin> bins, double since) {
    double highest = 0;
    for (const Bin& bin : bins)
        if (bin.high_at >= since) highest = std::max(highest, bin.high);
    return bytes_of(highest);
}

Warmup warmup_of(const Findings& findings) {
    const auto& spikes = findings.spikes;
    const double pause = spikes ? std::min(1.2 * spikes->period, 0.15 * findings.budget) : 0;
    return find_warmup(findings.floor, findings.segments, findings.budget, pause, spikes ? spikes->blur : 0);
}

Findings find_out(std::span<const Bin> bins, double budget) {
    Findings findings{.bins = bins, .floor = find_floor(bins), .budget = budget};
    findings.noise = sample_noise(bins, findings.floor.level);
    findings.segments = find_segments(findings.floor);
    findings.spikes = find_spikes(bins, findings.floor, findings.noise);
    findings.warmup = warmup_of(findings);
    return findings;
}

// The findings on another floor, which has about one point per tooth. The finest blocks without many falls may be
// shorter than a tooth, so that the floor contains samples of the teeth, which hide a slow rise. Or they are so much
// longer that too few points are left.
std::optional<Findings> find_out_by_teeth(const Findings& findings) {
    constexpr double kStretch = 1.3;    // periods: nearly every stretch contains the bottom of a tooth
    constexpr double kMostTeeth = 0.5;  // share of the teeth: with fewer bottoms, the teeth are no higher than noise
    if (!findings.spikes) return std::nullopt;
    const Spikes& spikes = *findings.spikes;
    std::optional<Floor> floor;
    if (spikes.blur > 0) floor = find_floor_of_teeth(findings.bins, spikes.height, spikes.period, findings.noise);
    if (!floor || static_cast<double>(floor->size()) < kMostTeeth * spikes.count) floor.reset();
    if (!floor) floor = find_floor_by_stretches(findings.bins, kStretch * spikes.period, findings.noise);
    if (!floor) return std::nullopt;
    Findings by_teeth = findings;
    by_teeth.floor = *std::move(floor);
    by_teeth.segments = find_segments(by_teeth.floor);
    by_teeth.warmup = warmup_of(by_teeth);
    return by_teeth;
}

std::optional<Findings> find_out_by_lines(const Findings& findings) {
    if (!findings.spikes || findings.spikes->blur == 0) return std::nullopt;
    Findings by_lines = findings;
    by_lines.bottoms = find_tooth_bottoms(findings.bins, findings.spikes->height, findings.noise);
    auto floor = floor_of_bottoms(by_lines.bottoms, findings.noise, findings.floor.level);
    if (!floor) return std::nullopt;
    by_lines.floor = *std::move(floor);
    by_lines.segments = find_segments(by_lines.floor);
    by_lines.warmup = warmup_of(by_lines);
    return by_lines;
}

// The usual distance from the floor to the highest sample of a short period, because that sample reaches a limit first.
double overhang_of(const Findings& findings) {
    if (findings.spikes) return findings.spikes->height;
    constexpr double kBlocks = 8;
    const Floor& floor = findings.floor;
    const std::size_t k = std::min(floor.first_since(floor.end() - 0.25 * floor.length()), floor.size() - 3);
    const Line line = floor.line_since(k);
    const double from = floor.at[k];
    const double width = std::max((floor.end() - from) / kBlocks, 1e-9);
    std::vector<double> tops;
    double cell = -1;
    for (const Bin& bin : findings.bins) {
        if (bin.high_at < from) continue;
        const double at = std::floor((bin.high_at - from) / width);
        const double top = bin.high - line.value(bin.high_at);
        if (at != cell) tops.push_back(top);
        cell = at;
        tops.back() = std::max(tops.back(), top);
    }
    return std::max(0.0, median_value(std::move(tops)));
}

// The 95 % quantile of the highs since then, because a line through steps does not show how high samples are above it.
double tops_since(const Findings& findings, double since) {
    std::vector<double> tops;
    for (const Bin& bin : findings.bins)
        if (bin.high_at > since) tops.push_back(bin.high);
    return quantile(std::move(tops), 0.95);
}

struct StillToCome {
    bool goes_on = false;
    Doubt doubt = Doubt::budget;
};

// For growth since the start that has no plateau and is no leak: whether more growth is expected.
StillToCome growth_since_start(const Findings& findings) {
    const Floor& floor = findings.floor;
    const double elapsed = std::max(findings.elapsed(), 1e-9);
    const double risen = floor.end_level() - findings.warmup.start_level;
    const double mean = risen / elapsed;
    const std::size_t k = std::min(floor.first_since(floor.end() - 0.25 * elapsed), floor.size() - 4);
    const Line last = floor.line_since(k);
    const double error = floor.noise * std::sqrt(12.0 / static_cast<double>(floor.size() - k)) /
                         std::max(floor.end() - floor.at[k], 1e-9);
    if (last.slope + error <= 0) return {};
    const auto saturation = find_saturation(floor, 0);
    if (saturation && !saturation->lasts) {
        const bool more = saturation->to_come > std::max(0.05 * risen, kMaterial * floor.end_level());
        return {more && elapsed < 3 * findings.budget, Doubt::decelerating};
    }
    if (elapsed < 1.25 * findings.budget) return {last.slope + error >= 0.15 * mean, Doubt::budget};
    const bool material = last.slope * 0.25 * elapsed > kMaterial * floor.end_level();
    return {elapsed < 3 * findings.budget && last.slope > 0.4 * mean && material, Doubt::decelerating};
}

// Whether the floor rises slowly, but not enough yet for a segment of its own.
bool creeps_up(const Findings& findings) {
    const Floor& floor = findings.floor;
    const Line line = floor.line_since(0);
    const double risen = line.slope * floor.length();
    const double spread = std::sqrt(line.squares / static_cast<double>(std::max<std::size_t>(floor.size(), 3) - 2));
    return risen > std::max(kMaterial * floor.end_level(), 4 * floor.noise) && spread < 0.12 * risen;
}

// The time at which the line of a leak leaves the level that the floor had before.
double start_of(const Findings& findings, const Rise& rise, double end_level) {
    if (rise.stairs) return rise.began;
    const Floor& floor = findings.floor;
    const Segment* before = nullptr;
    for (const Segment& segment : findings.segments)
        if (floor.at[segment.to - 1] <= rise.began + 0.02 * floor.length() && segment.slope < 0.3 * rise.slope &&
            floor.at[segment.to - 1] - floor.at[segment.from] > 0.05 * rise.length)
            before = &segment;
    if (!before) return rise.began;
    const double crossing = findings.now() - (end_level - before->end) / rise.slope;
    return std::clamp(crossing, floor.at[before->from], floor.end() - 0.5 * rise.length);
}

void set_leak(Judgement& judgement, const Findings& findings, const Leak& leak, Seconds began) {
    const Floor& floor = findings.floor;
    const Rise& rise = leak.rise;
    const std::size_t k = floor.first_since(rise.began);
    double level = floor.end_level();
    if (rise.stairs) {
        const Staircase stairs = sharpened(*rise.stairs, floor, findings.bins);
        const std::size_t last = std::min(floor.first_since(stairs.last_at), floor.size() - 1);
        level = median_value({floor.bytes.begin() + static_cast<std::ptrdiff_t>(last), floor.bytes.end()});
        if (!findings.spikes) judgement.overhang = std::max(0.0, tops_since(findings, stairs.last_at) - level);
        judgement.steps =
            LeakSteps{stairs.count, stairs.height, Seconds(stairs.period), began + Seconds(stairs.last_at)};
    } else if (k + 2 < floor.size()) {
        level = floor.line_since(k).value(findings.now());
    }
    judgement.verdict = Verdict::leaking;
    judgement.floor = bytes_of(level);
    judgement.floor_slope = rise.slope;
    judgement.floor_slope_error = rise.slope_error;
    judgement.rise = rise.bytes;
    double start = start_of(findings, rise, level);
    if (findings.warmup.ended) start = std::max(start, *findings.warmup.ended);
    judgement.leak_started = began + Seconds(start);
    if (findings.warmup.grew && !findings.warmup.ended && start > findings.start())
        judgement.warmup_ended = judgement.leak_started;  // no pause in between: the warm-up ends where the leak starts
    judgement.confidence = std::min(0.99, 0.75 + 0.02 * std::min(12.0, rise.strength - 4));
}

// Whether the floor has grown on one straight line since the start and does not slow down.
bool grows_steadily(const Floor& floor) {
    constexpr double kStraight = 0.05;  // of the rise: the largest standard deviation around the line
    constexpr double kAsFast = 0.8;     // of the rate of the first half
    const Line line = floor.line_since(0);
    const double risen = line.slope * floor.length();
    const double spread = std::sqrt(line.squares / static_cast<double>(std::max<std::size_t>(floor.size(), 3) - 2));
    const std::size_t middle = floor.size() / 2;
    const bool slows = floor.line_since(middle).slope < kAsFast * floor.line(0, middle).slope;
    return risen > kMaterial * floor.end_level() && spread < kStraight * risen && !slows;
}

void set_warming_up(Judgement& judgement, const Findings& findings, Doubt doubt) {
    const Floor& floor = findings.floor;
    const std::size_t k = std::min(floor.first_since(floor.end() - 0.5 * floor.length()), floor.size() - 3);
    const Line line = floor.line_since(k);
    judgement.verdict = Verdict::warming_up;
    judgement.floor = bytes_of(std::max(floor.end_level(), line.value(findings.now())));
    judgement.floor_slope = line.slope;
    judgement.rise = floor.end_level() - findings.warmup.start_level;
    judgement.warmup_ended.reset();
    judgement.doubt = doubt;
    judgement.steady = doubt == Doubt::budget && grows_steadily(floor);
    judgement.confidence = 0.7;
}

constexpr double kSpikesOver = 10;  // periods without a spike

void set_flat(Judgement& judgement, const Findings& findings) {
    const Floor& floor = findings.floor;
    const std::size_t k = std::min(floor.first_since(floor.end() - floor.length() / 3), floor.size() - 3);
    // Spikes are over if none has come for a long time.
    const bool over = findings.spikes && findings.now() - findings.spikes->last_at >
                                             std::max(kSpikesOver * findings.spikes->period, 0.5 * findings.budget);
    if (over) {
        judgement.spike.reset();
        judgement.last_spike.reset();
    }
    judgement.verdict = findings.spikes && !over ? Verdict::spiky : Verdict::stable;
    judgement.floor_slope = floor.line_since(k).slope;
    judgement.confidence = 0.9 * std::min(1.0, 0.6 + 0.8 * floor.length() / findings.budget);
    if (findings.warmup.grew && !judgement.warmup_ended)
        judgement.warmup_ended = judgement.until - Seconds(floor.end() - floor.at[k]);
}

// Says `leaking` if the bounds of the teeth of a sawtooth show a leak.
bool decide_by_bounds(Judgement& judgement, const Findings& findings, const JudgeSettings& settings, Seconds began) {
    const auto by_lines = find_out_by_lines(findings);
    if (!by_lines) return false;
    const auto leak = find_leak(*by_lines, settings.evidence);
    if (!leak || leak->doubt != Doubt::none) return false;
    set_leak(judgement, *by_lines, *leak, began);
    return true;
}

// Whether the bounds of the teeth show that the floor did not rise on a line, but may have jumped once or twice. The
// lowest samples of the teeth vary, so that they may look like a line even then.
bool only_jumped(const Findings& findings, const Rise& rise) {
    constexpr std::size_t kFewest = 5;
    if (!findings.spikes || findings.spikes->blur == 0) return false;
    auto bottoms = find_tooth_bottoms(findings.bins, findings.spikes->height, findings.noise);
    std::erase_if(bottoms, [&](const ToothBottom& bottom) { return bottom.at < rise.began; });
    if (bottoms.size() < kFewest || fewest_jumps(bottoms) >= 3) return false;
    if (!least_slope(bottoms)) return true;
    // A line and jumps both agree with the bounds. Their middles vary less than the lowest samples do.
    const auto floor = rise.stairs ? std::nullopt : floor_of_bottoms(bottoms, findings.noise, findings.floor.level);
    return floor && jumps_fit_better(*floor);
}

bool is_certain(const std::optional<Leak>& leak, const Findings& findings) {
    return leak && leak->doubt == Doubt::none && !only_jumped(findings, leak->rise);
}

void decide(Judgement& judgement, const Findings& findings, const JudgeSettings& settings, Seconds began) {
    auto leak = find_leak(findings, settings.evidence);
    const double budget = findings.budget;
    if (is_certain(leak, findings)) return set_leak(judgement, findings, *leak, began);
    if (leak && leak->doubt == Doubt::none) leak.reset();
    if (const auto by_teeth = find_out_by_teeth(findings))
        if (const auto other = find_leak(*by_teeth, settings.evidence); is_certain(other, *by_teeth))
            return set_leak(judgement, *by_teeth, *other, began);
    if (decide_by_bounds(judgement, findings, settings, began)) return;
    if (leak && leak->doubt == Doubt::budget) return set_warming_up(judgement, findings, Doubt::budget);
    if (leak) {
        const double level = findings.floor.end_level();
        const double age = findings.warmup.ended ? findings.floor.end() - leak->rise.began : findings.elapsed();
        if (leak->to_come > std::max(0.05 * leak->rise.bytes, kMaterial * level)) {
            if (age <= 3 * budget) return set_warming_up(judgement, findings, Doubt::decelerating);
            set_leak(judgement, findings, *leak, began);
            judgement.doubt = Doubt::decelerating;
            return;
        }
    } else if (findings.warmup.grew && !findings.warmup.ended) {
        const StillToCome growth = growth_since_start(findings);
        if (growth.goes_on) return set_warming_up(judgement, findings, growth.doubt);
    } else if (!findings.warmup.grew && findings.elapsed() < budget && creeps_up(findings)) {
        return set_warming_up(judgement, findings, Doubt::budget);
    }
    set_flat(judgement, findings);
}

// Limits the height of the next spike to the highest level of the latest ones, because the floor may have risen while
// their tops stayed the same. If the floor still rises, the tops are expected to rise with it.
void cap_spike(Judgement& judgement, const Findings& findings) {
    if (!findings.spikes) return;
    const bool grows = judgement.verdict == Verdict::leaking || judgement.verdict == Verdict::warming_up;
    const double risen = grows ? std::max(judgement.floor_slope, 0.0) * (findings.now() - findings.spikes->top_at) : 0;
    const double most = std::max(0.0, findings.spikes->top + risen - static_cast<double>(judgement.floor.n));
    judgement.overhang = std::min(judgement.overhang, most);
    if (judgement.spike) judgement.spike->height = std::min(judgement.spike->height, bytes_of(most));
}

enum class Rules { all, bounds };  // bounds: only the rules for which a gap in the samples does not matter
// `judgement`: the values that are known before judging. `began`: the time from which the times of bins count.
Judgement judge_bins(std::span<const Bin> bins, Judgement judgement, const JudgeSettings& settings, Seconds began,
                     Rules rules = Rules::all) {
    judgement.samples = samples_in(bins);
    if (bins.empty()) return judgement;
    const double budget = std::max(settings.warmup.count(), 1.0);
    const double shortest = 0.999 * std::max(1.0, std::min(120.0, 0.1 * budget));
    judgement.floor = bytes_of(std::ranges::min(bins, {}, &Bin::low).low);
    if (bins.size() < kFewestSamples || (judgement.until - judgement.since).count() < shortest) return judgement;

    const Findings findings = find_out(bins, budget);
    if (findings.floor.size() < kFewestSamples) return judgement;
    judgement.floor = bytes_of(findings.floor.end_level());
    if (findings.spikes) {
        judgement.spike = Spike{bytes_of(findings.spikes->height), Seconds(findings.spikes->period)};
        judgement.last_spike = began + Seconds(findings.spikes->last_at);
    }
    if (findings.warmup.grew && findings.warmup.ended) judgement.warmup_ended = began + Seconds(*findings.warmup.ended);
    judgement.overhang = overhang_of(findings);
    judgement.room = highest_since(bins, findings.warmup.ended.value_or(findings.start()));
    if (rules == Rules::all)
        decide(judgement, findings, settings, began);
    else
        decide_by_bounds(judgement, findings, settings, began);
    judgement.floor = std::min(judgement.floor, judgement.peak);  // the fitted line may end above the highest sample
    cap_spike(judgement, findings);
    return judgement;
}

// The longest time for which the series may be above its floor, in seconds. A sawtooth reaches its floor once a period.
// Between spikes the floor is visible for more than half of the time.
double longest_above_floor(std::span<const Bin> bins) {
    constexpr double kOfSpikes = 0.25;
    const Floor floor = find_floor(bins);
    const auto spikes = find_spikes(bins, floor, sample_noise(bins, floor.level));
    if (!spikes) return 0;
    return spikes->blur > 0 ? spikes->period : kOfSpikes * spikes->period;
}

// Judges one run of a job, from its start or restart on.
Judgement judge_run(std::span<const Bin> bins, const Judgement& known, const JudgeSettings& settings, Seconds began) {
    const Judgement judged = judge_bins(bins, known, settings, began);
    if (judged.verdict != Verdict::leaking) return judged;
    // `leaking` must also hold without an excursion that may be freed again, and without the few samples after a gap.
    const std::size_t open = open_excursion(bins);
    const std::size_t doubtful = std::max(open, too_few_since_gap(bins, longest_above_floor(bins)));
    if (doubtful == 0) return judged;
    const Judgement without = judge_bins(bins.first(bins.size() - doubtful), known, settings, began);
    if (without.verdict == Verdict::leaking) return judged;
    // The bounds of teeth hold across a gap.
    const Judgement bounded = judge_bins(bins.first(bins.size() - open), known, settings, began, Rules::bounds);
    return bounded.verdict == Verdict::leaking ? bounded : without;
}

std::optional<std::vector<double>> times_of_restarts(const Evidence& evidence, Seconds began) {
    if (!evidence.restarts) return std::nullopt;
    std::vector<double> times;
    for (const Seconds at : *evidence.restarts) times.push_back((at - began).count());
    return times;
}

// Whether the OOM killer ended the run: a kill is nearer to its end than half of its length.
bool was_oom_killed(const Judgement& run, const Evidence& evidence) {
    const Seconds near = 0.5 * (run.until - run.since);
    return std::ranges::any_of(evidence.oom_kills,
                               [&](Seconds kill) { return kill > run.until - near && kill < run.until + near; });
}

// Whether a run that has ended reached a plateau. At its limit, memory also stays the same until the kill.
bool has_settled(const Judgement& run, const Evidence& evidence) {
    if (run.verdict != Verdict::stable && run.verdict != Verdict::spiky) return false;
    if (run.until - run.warmup_ended.value_or(run.since) < least_plateau(run)) return false;
    return !was_oom_killed(run, evidence);
}

// A run without its end: the time until the next run begins, and the fall, because the kernel may need several samples
// to free the memory of a process.
std::span<const Bin> without_end(std::span<const Bin> run) {
    constexpr double kFallen = 0.5;         // of the level in the middle of the run
    constexpr std::size_t kLongestEnd = 8;  // bins of the fall
    while (run.size() > 1 && run.back().low < kFallen * run[run.size() / 2].low) run = run.first(run.size() - 1);
    for (std::size_t i = 0; i < kLongestEnd && run.size() > 1 && run.back().low < run[run.size() - 2].low; ++i)
        run = run.first(run.size() - 1);
    return run;
}

// Judges the last completed runs. Older runs say less about the present one, and cost as much time to judge.
std::optional<RestartLoop> find_loop(std::span<const Bin> bins, const std::vector<std::size_t>& restarts,
                                     const Judgement& known, const JudgeSettings& settings, Seconds began) {
    constexpr std::size_t kMostRuns = 3;
    constexpr std::size_t kFewestRuns = 2;
    if (restarts.size() < kFewestRuns) return std::nullopt;
    RestartLoop loop{.restarts = static_cast<int>(restarts.size())};
    std::vector<double> slopes;
    std::vector<double> lengths;
    std::vector<double> tops;
    std::size_t settled = 0;
    for (std::size_t i = restarts.size() - std::min(restarts.size(), kMostRuns); i < restarts.size(); ++i) {
        const std::size_t from = i == 0 ? 0 : restarts[i - 1];
        auto run = bins.subspan(from, restarts[i] - from);
        run = without_end(run);
        Judgement start = known;
        start.since = began + Seconds(run.front().low_at);
        start.until = began + Seconds(run.back().low_at);
        const Judgement judged = judge_run(run, start, settings, began);
        if (judged.verdict == Verdict::leaking) slopes.push_back(judged.floor_slope);
        settled += has_settled(judged, settings.evidence) ? 1 : 0;
        lengths.push_back((judged.until - judged.since).count());
        tops.push_back(std::ranges::max(run, {}, &Bin::high).high);
    }
    loop.all_leaked = slopes.size() == lengths.size();
    loop.all_settled = settled == lengths.size();
    loop.slope = median_value(std::move(slopes));
    loop.length = Seconds(median_value(std::move(lengths)));
    loop.top = bytes_of(median_value(std::move(tops)));
    return loop;
}

// Gives a run that is too short for a verdict of its own the verdict of the runs before it, unless its curve differs
// from theirs, because the same job was only started again.
void follow_earlier_runs(Judgement& judged, RestartLoop loop) {
    const Seconds age = judged.until - judged.since;
    const bool flat = judged.verdict == Verdict::stable || judged.verdict == Verdict::spiky;
    if (loop.all_leaked && judged.verdict != Verdict::leaking && !(flat && age > 0.5 * loop.length)) {
        loop.decides = true;
        judged.verdict = Verdict::leaking;
        judged.doubt = Doubt::none;
        judged.floor_slope = loop.slope;
        judged.leak_started = judged.since;
        judged.warmup_ended.reset();
        judged.steps.reset();
        judged.confidence = 0.75;
    } else if (loop.all_settled && (judged.verdict == Verdict::insufficient || judged.verdict == Verdict::warming_up) &&
               static_cast<double>(judged.floor.n) < 1.1 * static_cast<double>(loop.top.n)) {
        loop.decides = true;
        judged.verdict = Verdict::stable;
        judged.doubt = Doubt::none;
        judged.confidence = 0.6;
    }
    judged.loop = loop;
}

}  // namespace

Judgement judge(const Series& series, const JudgeSettings& settings) {
    const Seconds began = series.began();
    Judgement judgement{.since = began, .until = began + Seconds(series.length()), .peak = series.peak()};
    judgement.warmup = settings.warmup;
    std::vector<Bin> bins = series.bins();
    const auto restarts = find_restarts(bins, times_of_restarts(settings.evidence, began));
    const auto loop = find_loop(bins, restarts, judgement, settings, began);
    if (!restarts.empty()) {
        judgement.restarted = judgement.since = began + Seconds(bins[restarts.back()].low_at);
        bins.erase(bins.begin(), bins.begin() + static_cast<std::ptrdiff_t>(restarts.back()));
    }
    if (const auto collapse = find_collapse(bins, settings.warmup)) {
        judgement.restarted = judgement.since = began + Seconds(bins[*collapse].low_at);
        judgement.only_fell = settings.evidence.restarts.has_value();
        bins.erase(bins.begin(), bins.begin() + static_cast<std::ptrdiff_t>(*collapse));
    } else {
        bins.resize(bins.size() - unsettled_end(bins));
    }
    Judgement judged = judge_run(bins, judgement, settings, began);
    if (loop) follow_earlier_runs(judged, *loop);
    return judged;
}

}  // namespace memscope
