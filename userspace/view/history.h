#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "model/snapshot.h"
#include "outputs/text/curve.h"

namespace memscope::view {

struct Rates {
    std::optional<double> own{};     // change of own memory, bytes per second
    std::optional<double> faults{};  // per second
};

// A few points of the last ten seconds, to compute a rate over them. Times are those of the snapshots.
class Recent {
  public:
    void add(double time, Bytes own, std::uint64_t faults);
    Rates rates() const;  // absent before the second point; no fault rate if the counter decreased

  private:
    struct Point {
        double time = 0;
        std::uint64_t own = 0;
        std::uint64_t faults = 0;
    };
    std::vector<Point> points_{};  // oldest first, the last one is now
};

// A value for each tick, without gaps. The last value belongs to tick `last_tick`.
struct Series {
    std::vector<std::uint64_t> values{};
    std::uint64_t last_tick = 0;
};

// Exactly `width` columns, the newest at the right. If there are more ticks than columns, neighbouring ticks share a
// column. The number of a tick determines its column, so a complete column does not change when further ticks follow.
// The scale spans at least 5 % of the level, so that a flat line with noise is drawn flat, in the middle.
std::string sparkline(const Series& series, std::size_t width);

// The judged memory of a target over the whole known time, with the times of deaths. Bounded: if there are too many
// points, only the lowest and the highest of every four points stay.
class TargetCurve {
  public:
    static constexpr std::size_t kMost = 1024;
    static constexpr std::size_t kMostDeaths = 256;  // the latest ones

    void add(double time, Bytes held);
    void add_death(double time);
    const std::vector<CurvePoint>& points() const { return points_; }
    const std::vector<double>& deaths() const { return deaths_; }

  private:
    std::vector<CurvePoint> points_{};
    std::vector<double> deaths_{};
};
TargetCurve curve_of(std::span<const CurvePoint> points, std::span<const double> deaths);

// The past ticks that the view keeps: own memory of each role for its sparkline, a few points of each process for its
// rate. Bounded: roles and processes beyond a bound are shown without a sparkline or a rate.
class History {
  public:
    static constexpr std::size_t kTicks = 120;
    static constexpr std::size_t kTargets = 256;
    static constexpr std::size_t kRoles = 64;  // of a target
    static constexpr std::size_t kProcesses = 4096;

    History() = default;
    // For a replay that has jumped. `since`: the time from which the targets were watched, although earlier ticks are
    // not added.
    explicit History(double since) : since_(since) {}

    void add(const Snapshot& snapshot);
    // Sets the curve of a target before the first tick that is added.
    void begin_curve(const std::string& target, TargetCurve curve) { earlier_[target] = std::move(curve); }

    Rates rates(const std::string& target, const RoleKey& role) const;
    Rates rates(const ProcessId& process) const;
    Series own(const std::string& target, const RoleKey& role) const;
    Seconds watched(const std::string& target) const;
    const TargetCurve* curve(const std::string& target) const;  // null: not known

  private:
    struct RoleTrack {
        std::vector<std::uint64_t> own{};  // the last ticks, newest last
        Recent recent{};
    };
    struct TargetTrack {
        double first = 0;  // time of the first tick
        double last = 0;
        std::uint64_t tick = 0;
        std::map<RoleKey, RoleTrack> roles{};
        TargetCurve curve{};
    };
    struct ProcessTrack {
        Recent recent{};
        std::uint64_t seen = 0;  // value of round_ at the last tick that had the process
    };

    static void add_target(TargetTrack& track, double time, const TargetSnapshot& target);
    void add_processes(double time, const TargetSnapshot& target);
    const RoleTrack* find(const std::string& target, const RoleKey& role) const;

    std::optional<double> since_{};
    std::map<std::string, TargetCurve> earlier_{};
    std::uint64_t round_ = 0;
    std::map<std::string, TargetTrack> targets_{};
    std::map<ProcessId, ProcessTrack> processes_{};
};

}  // namespace memscope::view
