#include "view/history.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/targets/target_judge.h"

namespace memscope::view {
namespace {

constexpr double kWindow = 10;  // seconds over which a rate is computed
constexpr double kStep = 2;     // seconds between the points that are kept

}  // namespace

void Recent::add(double time, Bytes own, std::uint64_t faults) {
    if (!points_.empty() && time == points_.back().time) return;          // the same tick again
    if (!points_.empty() && time < points_.back().time) points_.clear();  // the clock was set back
    const Point now{time, own.n, faults};
    if (points_.size() >= 2 && points_.back().time - points_[points_.size() - 2].time < kStep)
        points_.back() = now;
    else
        points_.push_back(now);
    while (points_.size() > 2 && time - points_[1].time >= kWindow) points_.erase(points_.begin());
}

Rates Recent::rates() const {
    if (points_.size() < 2) return {};
    const Point& then = points_.front();
    const Point& now = points_.back();
    const double dt = now.time - then.time;
    Rates rates{.own = (static_cast<double>(now.own) - static_cast<double>(then.own)) / dt};
    if (now.faults >= then.faults) rates.faults = static_cast<double>(now.faults - then.faults) / dt;
    return rates;
}

namespace {

constexpr const char* kSteps[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr double kLeastSpan = 0.05;

std::vector<double> columns_of(const Series& series, std::size_t width) {
    const std::size_t count = series.values.size();
    const std::size_t share = (count + width - 1) / width;
    const std::uint64_t first = series.last_tick + 1 - count;
    std::vector<double> columns;
    for (std::size_t i = 0; i < count;) {
        const std::uint64_t group = (first + i) / share;
        double sum = 0;
        double n = 0;
        for (; i < count && (first + i) / share == group; ++i, ++n) sum += static_cast<double>(series.values[i]);
        columns.push_back(sum / n);
    }
    if (columns.size() > width) columns.erase(columns.begin(), columns.end() - static_cast<std::ptrdiff_t>(width));
    return columns;
}

}  // namespace

std::string sparkline(const Series& series, std::size_t width) {
    if (width == 0) return {};
    if (series.values.empty()) return std::string(width, ' ');
    const std::vector<double> columns = columns_of(series, width);
    const auto [low, high] = std::ranges::minmax(columns);
    const double span = std::max(high - low, high * kLeastSpan);
    const double bottom = std::max((high + low - span) / 2, 0.0);
    std::string out(width - columns.size(), ' ');
    for (const double value : columns) {
        const double height = span > 0 ? (value - bottom) / span : 0;
        const auto step = static_cast<std::size_t>(std::clamp(std::floor(height * 7.999), 0.0, 7.0));
        out += kSteps[step];
    }
    return out;
}

void TargetCurve::add(double time, Bytes held) {
    points_.push_back({time, held});
    if (points_.size() < kMost) return;
    std::vector<CurvePoint> fewer;
    fewer.reserve(kMost);
    fewer.push_back(points_.front());  // the first point stays
    for (std::size_t i = 1; i + 4 < points_.size(); i += 4) {
        const auto four = points_.begin() + static_cast<std::ptrdiff_t>(i);
        const auto [low, high] = std::ranges::minmax_element(four, four + 4, {}, &CurvePoint::size);
        fewer.push_back(*std::min(low, high));
        if (low != high) fewer.push_back(*std::max(low, high));
    }
    fewer.push_back(points_.back());
    points_ = std::move(fewer);
}

void TargetCurve::add_death(double time) {
    if (deaths_.size() == kMostDeaths) deaths_.erase(deaths_.begin());
    deaths_.push_back(time);
}

namespace {

std::uint64_t all(const Faults& faults) { return faults.minor + faults.major; }

}  // namespace

TargetCurve curve_of(std::span<const CurvePoint> points, std::span<const double> deaths) {
    TargetCurve curve;
    for (const CurvePoint& point : points) curve.add(point.time, point.size);
    for (const double death : deaths) curve.add_death(death);
    return curve;
}

void History::add(const Snapshot& snapshot) {
    ++round_;
    std::set<std::string> present;
    for (const TargetSnapshot& target : snapshot.targets) present.insert(target.info.name);
    std::erase_if(targets_, [&](const auto& entry) {
        return !present.contains(entry.first) && !snapshot.has_unread(entry.first);
    });
    for (const TargetSnapshot& target : snapshot.targets) {
        add_processes(snapshot.time, target);
        auto found = targets_.find(target.info.name);
        if (found == targets_.end()) {
            if (targets_.size() >= kTargets) continue;
            found = targets_.emplace(target.info.name, TargetTrack{.first = snapshot.time}).first;
            if (auto earlier = earlier_.extract(target.info.name)) found->second.curve = std::move(earlier.mapped());
        }
        add_target(found->second, snapshot.time, target);
    }
    std::erase_if(processes_, [&](const auto& entry) { return entry.second.seen != round_; });
}

void History::add_target(TargetTrack& track, double time, const TargetSnapshot& target) {
    if (track.tick > 0 && time == track.last) return;                  // the same tick again: only `up` differs
    if (track.tick > 0 && time < track.last) track = {.first = time};  // the clock was set back
    track.last = time;
    ++track.tick;
    track.curve.add(time, judged_memory(target));
    for (const Death& death : target.deaths)
        if (death.news) track.curve.add_death(death.time);
    for (const auto& [role, totals] : target.roles)
        if (track.roles.size() < kRoles) track.roles.try_emplace(role);
    for (auto& [role, kept] : track.roles) {
        const auto totals = target.roles.find(role);
        const auto counters = target.counters.find(role);
        const Bytes own = totals == target.roles.end() ? Bytes{} : totals->second.own_anon();
        if (kept.own.size() == kTicks) kept.own.erase(kept.own.begin());
        kept.own.push_back(own.n);
        kept.recent.add(time, own, counters == target.counters.end() ? 0 : all(counters->second.faults));
    }
    // A role without processes is kept until all of its sparkline is 0.
    std::erase_if(track.roles, [&](const auto& entry) {
        return !target.roles.contains(entry.first) &&
               std::ranges::all_of(entry.second.own, [](auto n) { return n == 0; });
    });
}

void History::add_processes(double time, const TargetSnapshot& target) {
    for (const Process& process : target.processes) {
        if (!process.task.memory) continue;
        auto found = processes_.find(process.task.id);
        if (found == processes_.end()) {
            if (processes_.size() >= kProcesses) continue;
            found = processes_.emplace(process.task.id, ProcessTrack{}).first;
        }
        found->second.seen = round_;
        found->second.recent.add(time, process.own_anon(), all(process.task.faults));
    }
}

const History::RoleTrack* History::find(const std::string& target, const RoleKey& role) const {
    const auto track = targets_.find(target);
    if (track == targets_.end()) return nullptr;
    const auto found = track->second.roles.find(role);
    return found == track->second.roles.end() ? nullptr : &found->second;
}

Rates History::rates(const std::string& target, const RoleKey& role) const {
    const RoleTrack* track = find(target, role);
    return track ? track->recent.rates() : Rates{};
}

Rates History::rates(const ProcessId& process) const {
    const auto found = processes_.find(process);
    return found == processes_.end() ? Rates{} : found->second.recent.rates();
}

Series History::own(const std::string& target, const RoleKey& role) const {
    const RoleTrack* track = find(target, role);
    return track ? Series{track->own, targets_.at(target).tick} : Series{};
}

const TargetCurve* History::curve(const std::string& target) const {
    const auto found = targets_.find(target);
    return found == targets_.end() ? nullptr : &found->second.curve;
}

Seconds History::watched(const std::string& target) const {
    const auto found = targets_.find(target);
    return found == targets_.end() ? Seconds{} : Seconds{found->second.last - since_.value_or(found->second.first)};
}

}  // namespace memscope::view
