#include "analysis/verdict/hysteresis.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/verdict/statistics.h"

namespace memscope {
namespace {

// Times are parts of the warm-up budget.
constexpr double kFlatFor = 0.15;  // the floor must be flat for at least this long
constexpr double kPlateau = 0.4;   // a plateau must last this part of the time since the start (at most of the budget)
// After a pause of the loading, the floor must be flat for this part of the time since the start (at most a budget).
constexpr double kAfterPause = 0.3;
constexpr double kFlatAfterLeak = 0.2;  // after a run that leaked, the floor must be flat for this long
constexpr double kGrowsFor = 0.05;      // growth after a plateau, or spikes, must have been the verdict for this long
constexpr double kOfElapsed = 0.05;     // growth must also have been the verdict for this part of the judged time
constexpr double kAtMost = 0.5;         // kOfElapsed never requires a longer time than this
constexpr double kLeaksFor = 0.04;      // two `leaking` judgements must be at least this far apart
constexpr double kForgetAccusation = 0.2;  // a `leaking` judgement is forgotten if the next one comes later than this
constexpr double kSlowsFor = 0.1;          // growth that slows down replaces `leaking` after this long
// A judgement with less than full evidence replaces the last accusation with full evidence after this time, if the
// floor still rises.
constexpr double kStaysFull = 0.3;
// After this time such a judgement replaces that accusation even if the floor does not rise.
constexpr double kStaysFlat = 0.45;
constexpr double kRunBegins = 0.2;  // a fall of a spiky curve counts as a restart after this long
constexpr double kSameRun = 0.1;    // two restarts are at least this far apart

constexpr double kStillGrows = 0.02;   // of the level: a floor that rises by more is not a plateau
constexpr double kNewHeight = 0.1;     // of the floor: growth after a plateau is a new warm-up if it is larger
constexpr double kSure = 0.9;          // confidence from which a single judgement is enough to show `leaking`
constexpr double kSpikesMissing = 3;   // periods without a spike end `spiky`
constexpr double kStillASpike = 0.4;   // of the usual height
constexpr double kRefutedBelow = 0.5;  // of the rise that the old slope predicts
constexpr double kErrorsOfFloor = 2;   // the present floor may be higher by this many standard errors
constexpr double kErrorsOfLeak = 3;    // like kErrorsOfFloor, while judgements still say `leaking`
constexpr double kMaterial = 0.01;     // of the level: a smaller rise is not measurable
constexpr double kSinceLong = 0.1;     // of the judged time: if no judgement in it says `leaking`, `leaking` ends
constexpr double kGivenBack = 0.5;     // of the rise of the leak
// Full evidence needs at least this part of the steepest slope of the leak.
constexpr double kAsSteep = 0.9;
// Full evidence also needs at least this part of the strongest evidence for the leak.
constexpr double kAsStrong = 0.5;

// A verdict that was replaced and is shown again needs this many times the evidence to be replaced once more. The
// factor is applied at most twice, so that no verdict is shown forever.
constexpr double kHarder = 4;
constexpr double kHarderToAcquit = 2;  // the factor for `leaking`
constexpr int kHarderTimes = 2;

// After this many changes in one run the curve counts as ambiguous, and replacing any verdict needs kHarder times the
// evidence, except `leaking` if the floor is flat.
constexpr int kManyChanges = 4;

// After this many changes, a leak that was found again ends only once no judgement has said `leaking` for a whole
// budget.
constexpr int kTooManyChanges = 5;

double harder(double factor, int times) { return std::pow(factor, std::min(times, kHarderTimes)); }

std::size_t index(Verdict verdict) { return static_cast<std::size_t>(verdict); }

bool is_flat(Verdict verdict) { return verdict == Verdict::stable || verdict == Verdict::spiky; }

double level_of(const Judgement& judgement) { return std::max(1.0, static_cast<double>(judgement.floor.n)); }

struct FloorNow {
    double bytes = 0;
    double error = 0;  // standard error
};

// The floor since `since` (seconds since the first sample): the median of the lowest values of up to five parts of this
// time. The lowest value alone would follow each dip of memory that wanders. `period`: the floor is visible only once
// in this time, so no part is shorter.
std::optional<FloorNow> floor_since(const Series& series, double since, double period) {
    constexpr double kMostParts = 5;
    const double length = series.length() - since;
    const double parts = std::clamp(std::floor(length / std::max(period, 1e-9)), 1.0, kMostParts);
    std::vector<double> lows;
    double part = -1;
    for (const Bin& bin : series.bins(since)) {
        const double at = std::min(std::floor((bin.low_at - since) / length * parts), parts - 1);
        if (at != part) lows.push_back(bin.low);
        part = at;
        lows.back() = std::min(lows.back(), bin.low);
    }
    if (lows.empty()) return std::nullopt;
    const auto n = static_cast<double>(lows.size());
    const double mean = std::accumulate(lows.begin(), lows.end(), 0.0) / n;
    double squares = 0;
    for (const double low : lows) squares += (low - mean) * (low - mean);
    return FloorNow{median_value(std::move(lows)), std::sqrt(squares / std::max(n - 1, 1.0) / n)};
}

}  // namespace

Seconds least_plateau(const Judgement& judgement) {
    const Seconds elapsed = judgement.until - judgement.since;
    return std::max(kFlatFor * judgement.warmup, kPlateau * std::min(elapsed, judgement.warmup));
}

Judgement VerdictHysteresis::settle(const Judgement& judged, const Series& series, bool restarts_from_tree) {
    restarts_from_tree_ = restarts_from_tree;
    const Judgement fresh = doubted(judged);
    note_growth(fresh);
    if (shown_.verdict == Verdict::insufficient || is_new_run(fresh) || fresh.verdict == shown_.verdict ||
        may_replace(fresh, series))
        return take(fresh, series);
    return keep(fresh);
}

// A plateau that has just begun may be a pause of the warm-up. After a run that leaked it may also be the same leak,
// because a leak looks flat compared with the loading of the model.
Judgement VerdictHysteresis::doubted(Judgement fresh) {
    if (is_new_run(fresh) && shown_.verdict != Verdict::insufficient) after_leak_ = shown_.verdict == Verdict::leaking;
    if (!is_flat(fresh.verdict) || (fresh.loop && fresh.loop->all_settled)) return fresh;
    const Seconds flat_for = fresh.until - fresh.warmup_ended.value_or(fresh.since);
    const bool is_first_word = shown_.verdict == Verdict::insufficient || is_new_run(fresh);
    const bool has_begun = fresh.warmup_ended && is_first_word && flat_for < least_plateau(fresh);
    after_leak_ = after_leak_ && flat_for < kFlatAfterLeak * fresh.warmup;
    // Growth after a pause may be too short to be detected as a segment of its own.
    const Seconds elapsed = fresh.until - fresh.since;
    const Seconds ahead = fresh.warmup_ended ? std::max(flat_for, fresh.warmup - elapsed) : flat_for;
    const bool goes_on = elapsed < fresh.warmup && fresh.floor_slope * ahead.count() > kStillGrows * level_of(fresh);
    if (!has_begun && !after_leak_ && !goes_on) return fresh;
    fresh.verdict = Verdict::warming_up;
    fresh.doubt = Doubt::budget;
    fresh.warmup_ended.reset();
    return fresh;
}

// Restarts that are close together count as one, because the time of a restart shifts a little when old samples are
// merged, and while the new run begins.
bool VerdictHysteresis::is_new_run(const Judgement& fresh) const {
    if (!fresh.restarted) return false;
    // Without the process tree, a fall of a spiky curve may turn out to be the end of a spike.
    const bool may_be_spike = !restarts_from_tree_ && shown_.verdict == Verdict::spiky;
    if (may_be_spike && fresh.until - *fresh.restarted < kRunBegins * fresh.warmup) return false;
    const Seconds slack = std::max(kSameRun * fresh.warmup, 0.02 * (fresh.until - fresh.since));
    return !shown_.restarted || *fresh.restarted > *shown_.restarted + slack;
}

bool VerdictHysteresis::may_replace(const Judgement& fresh, const Series& series) {
    if (fresh.verdict == Verdict::insufficient) return false;
    if (fresh.verdict == Verdict::leaking) return is_confirmed(fresh);
    const Seconds elapsed = fresh.until - fresh.since;
    if (shown_.verdict == Verdict::leaking)
        return has_lasted(fresh, std::max(fresh.warmup, kSinceLong * elapsed)) ||
               (!keeps_coming_back() && is_refuted(fresh, series) &&
                (is_flat(fresh.verdict) || has_lasted(fresh, ambiguous() * kSlowsFor * fresh.warmup)));
    const Seconds most = kAtMost * fresh.warmup;
    const Seconds part = std::min(kOfElapsed * elapsed, most);
    const double again = effort();
    const Seconds needed = std::min(again * least_plateau(fresh), ambiguous() * kPlateau * fresh.warmup);
    if (shown_.verdict == Verdict::spiky && fresh.verdict == Verdict::stable)
        return !spikes_go_on(fresh, series) ||
               has_lasted(fresh, std::max({needed, spiky_for_, kSpikesMissing * shown_.spike->period}));
    if (shown_.verdict == Verdict::stable && fresh.verdict == Verdict::spiky)
        return has_lasted(fresh, again * kGrowsFor * fresh.warmup);
    const bool spiky = shown_.verdict == Verdict::spiky || fresh.spike;
    if (fresh.verdict == Verdict::warming_up)
        return level_of(fresh) > std::max((1 + again * kNewHeight) * calm_floor_, spiky ? 0 : calm_top_) &&
               has_lasted(fresh, again * std::max(kGrowsFor * fresh.warmup, part));
    // The plateau that the judgement found may already be long enough.
    const bool seen = fresh.warmup_ended && fresh.until - *fresh.warmup_ended >= needed;
    return (has_lasted(fresh, needed) || seen) && fresh.until - grew_at_ >= longer_than_pause(fresh);
}

void VerdictHysteresis::note_growth(const Judgement& fresh) {
    const bool begins = is_new_run(fresh) || grown_to_ == 0;
    if (!begins && level_of(fresh) <= (1 + kStillGrows) * grown_to_) return;
    grown_to_ = level_of(fresh);
    grew_at_ = begins ? fresh.since : fresh.until;
}

// How long the floor must have been without growth before the plateau is shown. A job that loads its model in parts
// pauses after each part. If a pause was called stable, the next plateau may be another pause. The next run probably
// loads in the same way.
Seconds VerdictHysteresis::longer_than_pause(const Judgement& fresh) const {
    if (fresh.loop && fresh.loop->all_settled) return {};
    const Seconds usual = kPlateau * fresh.warmup;
    const Seconds part = std::min(kAfterPause * (fresh.until - fresh.since), fresh.warmup);
    return std::min(kHarder * pause_, paused_ ? std::max(usual, part) : usual);
}

// The old slope is refuted once it predicts a measurable rise and less than half of that rise was measured, or once
// half of the leaked memory was freed.
bool VerdictHysteresis::is_refuted(const Judgement& fresh, const Series& series) const {
    if (!accusation_ || accusation_->weak) return true;
    // Growth that slows down has not stopped, so it is compared with the latest slope.
    const Accusation& accusation = is_flat(fresh.verdict) ? *full_accusation_ : *accusation_;
    const auto risen = risen_since(accusation, fresh, series);
    if (!risen) return false;
    if (risen->bytes < -kGivenBack * std::max(accusation.rise, kMaterial * level_of(fresh)))
        return fresh.until - accusation.at >= kFlatFor * fresh.warmup;
    const double expected = accusation.slope * risen->in.count();
    // A smaller factor than effort(), because an ambiguous curve is no reason to keep saying `leaking`.
    const double again = harder(kHarderToAcquit, shown_before_[index(Verdict::leaking)]);
    if (expected < again * std::min(kMaterial * level_of(fresh), kGivenBack * accusation.rise)) return false;
    return risen->at_most(kErrorsOfFloor) < kRefutedBelow * expected;
}

// How much the floor has risen since an accusation. `nullopt` if too little time has passed to know it.
std::optional<VerdictHysteresis::Risen> VerdictHysteresis::risen_since(const Accusation& accusation,
                                                                       const Judgement& fresh, const Series& series) {
    const Seconds passed = fresh.until - accusation.at;
    const Seconds window = std::max({passed / 2, 1.2 * accusation.period, Seconds(1)});
    if (passed < window) return std::nullopt;
    const double since = (fresh.until - window - series.began()).count();
    const auto floor = floor_since(series, since, 1.2 * accusation.period.count());
    if (!floor) return std::nullopt;
    return Risen{.bytes = floor->bytes - accusation.floor, .error = floor->error, .in = passed - window / 2};
}

// Whether the floor has risen since the last accusation with full evidence by at least half of what the new judgement
// says. The line through a leak that has stopped still rises for some time, but the floor does not.
bool VerdictHysteresis::still_rises(const Judgement& fresh, const Series& series) const {
    const auto risen = risen_since(*full_accusation_, fresh, series);
    return risen && risen->at_most(kErrorsOfLeak) >= kRefutedBelow * fresh.floor_slope * risen->in.count();
}

// The factor on the usual evidence that is needed to replace the verdict that is shown.
double VerdictHysteresis::effort() const { return ambiguous() * harder(kHarder, shown_before_[index(shown_.verdict)]); }

double VerdictHysteresis::ambiguous() const { return changes() >= kManyChanges ? kHarder : 1; }

bool VerdictHysteresis::keeps_coming_back() const {
    return changes() >= kTooManyChanges && shown_before_[index(Verdict::leaking)] > 0;
}

int VerdictHysteresis::changes() const { return std::accumulate(shown_before_.begin(), shown_before_.end(), 0); }

bool VerdictHysteresis::spikes_go_on(const Judgement& fresh, const Series& series) {
    if (!shown_.spike || !shown_.last_spike) return false;
    const double height = static_cast<double>(shown_.spike->height.n);
    const double high = static_cast<double>(fresh.floor.n) + kStillASpike * height;
    for (const Bin& bin : series.bins((*shown_.last_spike - series.began()).count()))
        if (bin.high >= high) shown_.last_spike = series.began() + Seconds(bin.high_at);
    const Seconds missing = std::max(kSpikesMissing * shown_.spike->period, kFlatFor * fresh.warmup);
    return fresh.until - *shown_.last_spike < missing;
}

// Two judgements must say `leaking`, and some judgements between them may differ. One judgement is enough if it is sure
// and `leaking` was not replaced before in this run.
bool VerdictHysteresis::is_confirmed(const Judgement& fresh) {
    if (!accused_since_ || fresh.until - accused_last_ > kForgetAccusation * fresh.warmup) accused_since_ = fresh.until;
    accused_last_ = fresh.until;
    const int times = shown_before_[index(Verdict::leaking)];
    const bool sure = fresh.confidence >= kSure;
    return (times == 0 && sure) ||
           fresh.until - *accused_since_ >= harder(sure ? kHarder : 2 * kHarder, times) * kLeaksFor * fresh.warmup;
}

// `stable` and `spiky` count as the same verdict here, because the floor is flat in both.
bool VerdictHysteresis::has_lasted(const Judgement& fresh, Seconds needed) {
    if (!pending_ || (*pending_ != fresh.verdict && !(is_flat(*pending_) && is_flat(fresh.verdict))))
        pending_since_ = fresh.until;
    pending_ = fresh.verdict;
    return fresh.until - pending_since_ >= needed;
}

Judgement VerdictHysteresis::take(const Judgement& fresh, const Series& series) {
    const bool same = fresh.verdict == shown_.verdict && !is_new_run(fresh);
    const bool was_flat = is_flat(shown_.verdict) && !is_new_run(fresh);
    if (is_new_run(fresh)) {
        shown_before_ = {};
        paused_ = false;
    } else if (!same && shown_.verdict != Verdict::insufficient) {
        ++shown_before_[index(shown_.verdict)];
    }
    if (was_flat && fresh.verdict == Verdict::warming_up) {
        pause_ = std::max(pause_, pending_since_ - calm_since_);
        paused_ = true;
    }
    if (is_flat(fresh.verdict) && !was_flat) calm_since_ = grew_at_;
    if (!is_flat(fresh.verdict)) calm_floor_ = 0;
    if (is_flat(fresh.verdict) && (!same || calm_floor_ == 0)) {
        calm_floor_ = level_of(fresh);
        calm_top_ = static_cast<double>(fresh.room.n);
    }
    spiky_for_ = fresh.verdict == Verdict::spiky && same ? spiky_for_ + (fresh.until - shown_.until) : Seconds{};
    shown_ = fresh;
    pending_.reset();
    if (fresh.verdict == Verdict::leaking) {
        accuse(fresh, series, same);
    } else {
        accusation_.reset();
        full_accusation_.reset();
    }
    return shown_;
}

void VerdictHysteresis::accuse(const Judgement& fresh, const Series& series, bool same_leak) {
    Seconds period{};
    if (fresh.spike) period = fresh.spike->period;
    if (fresh.steps) period = std::max(period, fresh.steps->period);
    const double strength = fresh.floor_slope_error > 0 ? fresh.floor_slope / fresh.floor_slope_error : 0;
    accusation_ = Accusation{.at = fresh.until,
                             .floor = static_cast<double>(fresh.floor.n),
                             .slope = fresh.floor_slope,
                             .rise = fresh.rise,
                             .period = period,
                             .weak = fresh.doubt == Doubt::decelerating,
                             .steepest = fresh.floor_slope,
                             .strongest = strength};
    if (same_leak && full_accusation_ && !full_accusation_->weak) {
        const Accusation& before = *full_accusation_;
        const bool less = fresh.floor_slope < kAsSteep * before.steepest || strength < kAsStrong * before.strongest;
        const Seconds ago = fresh.until - before.at;
        if (less && ago <= kStaysFull * fresh.warmup) return;
        if (less && ago <= kStaysFlat * fresh.warmup && !still_rises(fresh, series)) return;
        accusation_->steepest = std::max(before.steepest, fresh.floor_slope);
        accusation_->strongest = std::max(before.strongest, strength);
    }
    full_accusation_ = accusation_;
}

// Keeps the verdict and updates its figures with the new measurements.
Judgement VerdictHysteresis::keep(const Judgement& fresh) {
    if (fresh.verdict == Verdict::insufficient) pending_.reset();
    shown_.until = fresh.until;
    shown_.samples = fresh.samples;
    shown_.peak = fresh.peak;
    shown_.room = std::max(shown_.room, fresh.room);
    if (fresh.verdict != Verdict::insufficient) shown_.floor = fresh.floor;
    return shown_;
}

}  // namespace memscope
