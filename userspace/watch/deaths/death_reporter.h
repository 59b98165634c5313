#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/deaths/death_moment.h"
#include "base/token_bucket.h"
#include "model/deaths/death_report.h"
#include "model/deaths/reported_death.h"
#include "model/snapshot.h"
#include "outputs/deaths/report_store.h"

namespace memscope {

// Some snapshots of the last minute, at most twenty at any tick interval. Older ones are further apart. With thousands
// of targets a snapshot has tens of megabytes, so fewer of them are kept.
class RecentSnapshots {
  public:
    static constexpr Bytes kMostBytes{std::uint64_t{48} << 20};  // of all but the two latest, which are always kept

    void add(SnapshotPtr snapshot);
    const std::deque<SnapshotPtr>& all() const { return snapshots_; }  // oldest first
    const Snapshot* latest() const { return snapshots_.empty() ? nullptr : snapshots_.back().get(); }

  private:
    void drop_by_size();

    std::deque<SnapshotPtr> snapshots_{};
    std::deque<std::uint64_t> slots_{};  // the slot of each snapshot
    std::uint64_t slot_ = 0;             // the current slot; counted from 1
    double slot_began_ = 0;
};

// An estimate of the memory of a snapshot. It leaves out strings other than explanations, GPUs and deaths.
Bytes approximate_size(const Snapshot& snapshot);

// Keeps recent snapshots and events of each target. When processes die, writes a death report from them and prints it.
class DeathReporter {
  public:
    enum class Symbols { when_loaded, as_loaded };
    // Returns the growth at the time at which this function object was made. `nullopt`, only with Symbols::when_loaded:
    // symbols of native code are still being loaded.
    using GrowthThen = std::function<std::optional<Growth>(Symbols)>;
    // Collects the growth of a target as it was at a tick. Empty function: growth is not recorded.
    using GrowthOf = std::function<GrowthThen(const TargetSnapshot&)>;

    // `store`: `nullopt` if reports are switched off. An error if the directory cannot be used: it is printed at each
    // death.
    DeathReporter(std::optional<Result<ReportStore>> store, GrowthOf growth);

    // Called before the tick is used for anything else, so that a first version of the report is written at once. `now`
    // is on the boot clock.
    void take(const Snapshot& snapshot, Seconds now);
    // Stores the complete snapshot of the tick, because it may be the last one that shows a process before its death.
    void remember(SnapshotPtr snapshot) { recent_.add(std::move(snapshot)); }
    // Called after the tick is published, and when symbols have been loaded: adds the growth, and returns the text to
    // print. A report whose symbols are being loaded comes with a later call, at symbols_until() at the latest.
    std::vector<std::vector<std::string>> finish_reports(Seconds now, Symbols symbols = Symbols::when_loaded);
    bool awaits_symbols() const { return !pending_.empty(); }  // after finish_reports()
    // Boot clock: the earliest time at which finish_reports() returns a report that waits for symbols without them.
    // `nullopt`: no report waits.
    std::optional<Seconds> symbols_until() const;
    // The deaths in that text, and the path of each report.
    const std::vector<ReportedDeath>& reported() const { return reported_; }
    // Complete reports that are new or were changed since the last call.
    std::vector<std::shared_ptr<const DeathReport>> take_reports() { return std::exchange(complete_, {}); }
    // A copy of the snapshot without the deaths of this tick whose report finish_reports() returns now or later. The
    // caller prints the remaining deaths as one line each.
    SnapshotPtr others(const SnapshotPtr& snapshot) const;

    std::uint64_t failed() const { return failed_; }          // reports that could not be written
    std::uint64_t unreported() const { return unreported_; }  // deaths without a report, because of the rate limits
    std::uint64_t unreported_moments() const { return unreported_moments_; }  // reports that the limits suppressed

  private:
    struct Pending {
        DeathReport report{};
        std::vector<Process> processes{};  // all processes of the target, until their growth was collected
        GrowthThen growth{};               // empty: not collected yet
        Seconds until{};                   // boot clock: symbols that are not loaded by then are left out
        std::string file{};                // empty: not written
        bool failed = false;
    };
    struct History {
        HeldHistory held{};
        std::deque<PastEvent> events{};
        TokenBucket rate_limit;
        std::uint64_t unreported = 0;     // since the last report
        std::optional<Pending> latest{};  // kept for a short time, because further deaths may be added to it
    };

    void follow(const Snapshot& snapshot);
    const TargetSnapshot* last_seen(const std::string& target) const;
    bool follows_another(const DeathMoment& moment);
    bool add_growth(Pending& pending, Seconds now, Symbols symbols);
    bool admit(const DeathMoment& moment, Seconds now);
    DeathReport describe(const DeathMoment& moment, const Snapshot& now);
    void write(Pending& pending);

    std::optional<Result<ReportStore>> store_;
    GrowthOf growth_;
    RecentSnapshots recent_{};
    std::map<std::string, History> histories_{};  // by name of the target
    TokenBucket rate_limit_;
    std::vector<Pending> pending_{};  // finish_reports() has not returned them yet
    std::vector<ReportedDeath> reported_{};
    std::vector<std::shared_ptr<const DeathReport>> complete_{};
    std::set<std::string> printed_{};  // targets whose deaths of this tick finish_reports() prints
    std::vector<std::string> troubles_{};
    bool in_trouble_ = false;  // the last write failed, and the error was printed
    std::uint64_t failed_ = 0;
    std::uint64_t unreported_ = 0;
    std::uint64_t unreported_moments_ = 0;
};

}  // namespace memscope
