#include "analysis/limits/limits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "analysis/verdict/forecast.h"
#include "analysis/verdict/statistics.h"

namespace memscope {
namespace {

constexpr Seconds kRemembered = std::chrono::minutes(30);
constexpr std::size_t kMostTops = 32;
constexpr double kCameBack = 0.05;  // share of the peak; a smaller fall is noise

bool differ(Bytes low, Bytes high) {
    return static_cast<double>(low.n) < (1 - kCameBack) * static_cast<double>(high.n);
}

}  // namespace

void ReturnedTops::add(Seconds now, Bytes held) {
    while (!tops_.empty() && (now - tops_.front().at > kRemembered || tops_.size() > kMostTops)) tops_.pop_front();
    if (low_) {  // the size falls; the next peak begins when it has risen again
        low_ = std::min(*low_, held);
        if (!differ(*low_, held)) return;
        low_.reset();
        peak_.reset();
    }
    if (!peak_ || held > peak_->held) peak_ = Top{now, held};
    if (!differ(held, peak_->held)) return;
    tops_.push_back(*peak_);
    low_ = held;
}

std::optional<Bytes> ReturnedTops::usual() const {
    Bytes highest;
    std::optional<Bytes> second;
    for (const Top& top : tops_) {
        if (top.held > highest)
            second = std::exchange(highest, top.held);
        else
            second = std::max(second.value_or(Bytes{}), top.held);
    }
    return tops_.size() < 2 ? std::nullopt : second;
}

namespace {

constexpr double kSpacing = 0.5;    // seconds between kept points, because ticks may be closer together
constexpr std::size_t kFewest = 6;  // least number of samples of a window
constexpr double kCovered = 0.9;    // a window counts as observed if its samples cover this share of it
constexpr double kMostFall = 0.3;   // of the net rise; a size that falls back by more does not rise steadily
// Of the net rise; in a steady rise most samples are this near to the line, in a jump they are not.
constexpr double kMostOff = 0.1;
constexpr double kStillRises = 0.4;  // of the rate, in the last seconds of the window; below it the rise has ended
constexpr double kLastSeconds = 5;   // or an eighth of the window, if that is longer
constexpr double kFurthest = 2;      // extrapolates by at most this many windows
constexpr std::array kWindows = {60.0, 40.0, 20.0, 10.0};  // seconds; the longest window with a steady rise counts

using Times = std::span<const double>;

// Theil's incomplete method: the median of the slopes between each point and the point that comes half of all points
// later. It is robust against single outliers.
double robust_slope(Times at, std::span<const double> bytes) {
    std::vector<double> slopes;
    const std::size_t half = at.size() / 2;
    for (std::size_t i = 0; i + half < at.size() && half > 0; ++i)
        slopes.push_back((bytes[i + half] - bytes[i]) / (at[i + half] - at[i]));
    return median_value(std::move(slopes));
}

// The largest fall from a peak.
double largest_fall(std::span<const double> bytes) {
    double top = bytes.front();
    double fall = 0;
    for (const double each : bytes) {
        top = std::max(top, each);
        fall = std::max(fall, top - each);
    }
    return fall;
}

// Distance of the samples from the line with that slope, without the worst tenth of them.
double distance(Times at, std::span<const double> bytes, double slope) {
    std::vector<double> heights;
    heights.reserve(at.size());
    for (std::size_t i = 0; i < at.size(); ++i) heights.push_back(bytes[i] - slope * (at[i] - at[0]));
    const double line = median_value(heights);
    for (double& height : heights) height = std::abs(height - line);
    return quantile(std::move(heights), 0.9);
}

}  // namespace

void Trend::add(Seconds now, Bytes held) {
    const Point point{now.count(), static_cast<double>(held.n)};
    if (points_.size() >= 2 && points_.back().at - points_[points_.size() - 2].at < kSpacing)
        points_.back() = point;
    else
        points_.push_back(point);
    while (!points_.empty() && point.at - points_.front().at > kLongest.count()) points_.pop_front();
}

std::optional<SteadyRise> Trend::rise_over(Seconds window) const {
    std::vector<double> at;
    std::vector<double> bytes;
    for (const Point& point : points_) {
        if (points_.back().at - point.at > window.count()) continue;
        at.push_back(point.at);
        bytes.push_back(point.bytes);
    }
    if (at.size() < kFewest) return std::nullopt;
    const double length = at.back() - at.front();
    if (length < kCovered * window.count()) return std::nullopt;
    const double rate = robust_slope(at, bytes);
    const double net = rate * length;
    if (net <= 0 || largest_fall(bytes) > kMostFall * net || distance(at, bytes, rate) > kMostOff * net)
        return std::nullopt;
    const double last = at.back() - std::max(kLastSeconds, length / 8);
    const auto first = static_cast<std::size_t>(std::ranges::lower_bound(at, last) - at.begin());
    const std::size_t from = std::min(first, at.size() - 3);
    if (robust_slope(Times(at).subspan(from), std::span(bytes).subspan(from)) < kStillRises * rate) return std::nullopt;
    return SteadyRise{rate, Seconds(length)};
}

std::optional<SteadyRise> Trend::reaching(Bytes room, Seconds horizon) const {
    for (const double window : kWindows) {
        const auto rise = rise_over(Seconds(window));
        if (!rise) continue;
        const Seconds eta(static_cast<double>(room.n) / rise->rate);
        if (eta < horizon && eta <= kFurthest * rise->window) return rise;
    }
    return std::nullopt;
}

double Trend::mean_rate(Seconds window) const {
    if (points_.size() < 2) return 0;
    const Point& last = points_.back();
    const auto first = std::ranges::find_if(points_, [&](const Point& p) { return last.at - p.at <= window.count(); });
    return first->at < last.at ? (last.bytes - first->bytes) / (last.at - first->at) : 0;
}

namespace {

constexpr std::string_view kOwn = "own";
constexpr double kMost = 0.5;                             // share of the growth under a limit
constexpr Seconds kFreshAfter = std::chrono::minutes(2);  // the time that a verdict needs
constexpr double kSpikesVary = 0.1;                       // share of the height of spikes by which they vary
constexpr double kTopsVary = 0.03;                        // share of the level by which peaks vary

double rate_of(const Judgement& judgement) {
    const bool grows = judgement.verdict == Verdict::leaking || judgement.verdict == Verdict::warming_up;
    return grows ? std::max(judgement.floor_slope, 0.0) : 0;
}

double share(double part, double whole) { return whole > 0 ? std::clamp(part / whole, 0.0, 1.0) : 0; }

// The share of the target in the forecast growth of the limit of an ancestor or of the host.
double own_share(const Forecast& forecast, const Judgement& held, const Judgement& own) {
    if (forecast.basis != Forecast::Basis::spike) return share(rate_of(own), forecast.rate);
    return own.spike ? share(static_cast<double>(own.spike->height.n), static_cast<double>(held.spike->height.n)) : 0;
}

// True if the judgement is about the time before the job's processes exited, and too little time has passed since their
// exit for a new judgement.
bool is_of_before(const std::optional<Seconds>& ended, const Judgement& judgement) {
    return ended && judgement.since < *ended && judgement.until < *ended + kFreshAfter;
}

// The top of the spikes in a judgement.
std::optional<double> top_of_spikes(const Judgement& judgement, Seconds now) {
    if (!judgement.spike) return std::nullopt;
    const double passed = std::max((now - judgement.until).count(), 0.0);
    return static_cast<double>(judgement.floor.n) + rate_of(judgement) * passed +
           (1 + kSpikesVary) * static_cast<double>(judgement.spike->height.n);
}

// The level from which memory fell back twice, for the time before a judgement recognizes spikes.
std::optional<double> top_of_returns(const ReturnedTops& tops) {
    const auto usual = tops.usual();
    return usual ? std::optional((1 + kTopsVary) * static_cast<double>(usual->n)) : std::nullopt;
}

// A rise to the usual peak is not alarming if that peak is below the limit.
bool is_usual(const LimitCandidate& candidate, const std::optional<double>& top) {
    return top && *top < static_cast<double>(candidate.limit.n) && static_cast<double>(candidate.held.n) <= *top;
}

}  // namespace

void Limits::add(Seconds now, const std::vector<LimitCandidate>& candidates, Bytes own) {
    std::erase_if(tracks_, [&](const auto& track) {
        return std::ranges::none_of(candidates, [&](const LimitCandidate& c) { return c.owner == track.first; });
    });
    own_.add(now, own);
    for (const LimitCandidate& candidate : candidates) {
        Track& track =
            tracks_.try_emplace(candidate.owner, Track{Judge(JudgeSettings{.warmup = warmup_})}).first->second;
        track.trend.add(now, candidate.held);
        track.tops.add(now, candidate.held);
        if (candidate.owner != kOwn) track.judge.add(now, candidate.held);
    }
}

void Limits::job_ended(Seconds now, const Judgement& own) {
    own_.clear();
    for (auto& [owner, track] : tracks_) {
        if (owner != kOwn && share(rate_of(own), rate_of(track.judge.latest())) < kMost) continue;
        track.ended = now;
        track.trend.clear();
        track.tops.clear();
    }
}

std::optional<Forecast> Limits::judged(Seconds now, const Track& track, const Judgement& own,
                                       const LimitCandidate& candidate) const {
    const bool is_own = candidate.owner == kOwn;
    const Judgement& held = is_own ? own : track.judge.latest();
    if (is_of_before(track.ended, held)) return std::nullopt;
    auto expected = forecast_at(held, candidate.limit, now, candidate.held);
    if (!expected || is_own) return expected;
    // Only the start of the target is known. Other processes below the limit may have run for long before watching
    // began, so their growth since then is not a warm-up.
    if (expected->basis == Forecast::Basis::warmup && own.verdict != Verdict::warming_up) return std::nullopt;
    expected->own_share = own_share(*expected, held, own);
    return expected;
}

std::optional<Forecast> Limits::trend(Seconds now, const Track& track, const Judgement& own,
                                      const LimitCandidate& candidate) const {
    const EffectiveLimit limit = as_limit(candidate);
    if (limit.held_share() <= trend_.held) return std::nullopt;
    const bool is_own = candidate.owner == kOwn;
    const Judgement& held = is_own ? own : track.judge.latest();
    if (is_usual(candidate, top_of_spikes(held, now)) || is_usual(candidate, top_of_returns(track.tops)))
        return std::nullopt;
    const auto rise = track.trend.reaching(limit.headroom, trend_.horizon);
    if (!rise) return std::nullopt;
    const Seconds eta(static_cast<double>(limit.headroom.n) / rise->rate);
    constexpr double kFaster = 1.5;
    return Forecast{.eta = eta,
                    .earliest = eta / kFaster,
                    .basis = Forecast::Basis::trend,
                    .rate = rise->rate,
                    .own_share = is_own ? 1 : share(own_.mean_rate(rise->window), rise->rate)};
}

std::vector<Forecast> Limits::foresee(Seconds now, const Judgement& own,
                                      const std::vector<LimitCandidate>& candidates) const {
    std::vector<Forecast> all;
    for (const LimitCandidate& candidate : candidates) {
        const auto track = tracks_.find(candidate.owner);
        if (track == tracks_.end()) continue;
        auto expected = judged(now, track->second, own, candidate);
        const auto soon = trend(now, track->second, own, candidate);
        // A leak with nearly the same forecast is kept, because alerts match its basis and an alternating basis would
        // interrupt them.
        const double clearly = expected && expected->basis != Forecast::Basis::warmup ? 0.5 : 1;
        if (soon && (!expected || soon->eta < clearly * expected->eta)) expected = soon;
        if (!expected) continue;
        expected->limit = as_limit(candidate);
        all.push_back(*std::move(expected));
    }
    std::ranges::stable_sort(all, {}, &Forecast::eta);
    return all;
}

}  // namespace memscope
