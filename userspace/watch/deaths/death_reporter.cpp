#include "watch/deaths/death_reporter.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <utility>
#include <vector>

#include "analysis/deaths/advice.h"
#include "analysis/deaths/past_events.h"
#include "analysis/targets/target_judge.h"
#include "outputs/deaths/death_report_bounds.h"
#include "outputs/deaths/death_report_json.h"
#include "outputs/deaths/death_text.h"

namespace memscope {
namespace {

constexpr double kOldest = 60;  // seconds: the exit of a process of a hundred gigabytes can take as long
constexpr double kSlot = 0.5;   // seconds: only the first snapshot of a slot is kept
constexpr std::uint64_t kLives = 4;

// Every second slot is kept for the shortest time. Of the other slots, every second one is kept for twice that time,
// and so on. So for any age there is a snapshot that is not much older.
bool lives_on(std::uint64_t slot, std::uint64_t now) { return now - slot <= kLives << std::countr_zero(slot); }

}  // namespace

void RecentSnapshots::add(SnapshotPtr snapshot) {
    const double now = snapshot->time;
    if (!snapshots_.empty() && now < snapshots_.back()->time) *this = {};  // the clock was set back
    if (slots_.empty() || now - slot_began_ >= kSlot) {
        ++slot_;
        slot_began_ = now;
    }
    snapshots_.push_back(std::move(snapshot));
    slots_.push_back(slot_);
    std::deque<SnapshotPtr> kept;
    std::deque<std::uint64_t> kept_slots;
    std::uint64_t before = 0;
    for (std::size_t i = 0; i < snapshots_.size(); ++i) {
        const bool first = std::exchange(before, slots_[i]) != slots_[i];
        const bool newest = i + 2 >= snapshots_.size();
        if (!newest && !(first && lives_on(slots_[i], slot_) && now - snapshots_[i]->time <= kOldest)) continue;
        kept.push_back(std::move(snapshots_[i]));
        kept_slots.push_back(slots_[i]);
    }
    snapshots_ = std::move(kept);
    slots_ = std::move(kept_slots);
    drop_by_size();
}

// Drops the slots with the shortest lifetime first, so that the rest still covers the whole minute.
void RecentSnapshots::drop_by_size() {
    std::vector<Bytes> sizes;
    Bytes sum;
    for (std::size_t i = 0; i + 2 < snapshots_.size(); ++i) sum += sizes.emplace_back(approximate_size(*snapshots_[i]));
    while (sum > kMostBytes) {
        const auto end = slots_.begin() + static_cast<std::ptrdiff_t>(sizes.size());
        const auto drop = std::min_element(slots_.begin(), end,
                                           [](std::uint64_t a, std::uint64_t b) {
                                               return std::countr_zero(a) < std::countr_zero(b);
                                           }) -
                          slots_.begin();
        sum = sum - sizes[static_cast<std::size_t>(drop)];
        sizes.erase(sizes.begin() + drop);
        snapshots_.erase(snapshots_.begin() + drop);
        slots_.erase(slots_.begin() + drop);
    }
}

Bytes approximate_size(const Snapshot& snapshot) {
    constexpr std::size_t kNode = 48;  // of a map or of an allocation: pointers and the allocator's header
    std::size_t sum = sizeof(Snapshot);
    for (const TargetSnapshot& target : snapshot.targets) {
        sum += sizeof(TargetSnapshot) + target.processes.capacity() * sizeof(Process) +
               target.memory.candidates.capacity() * sizeof(LimitCandidate) +
               target.roles.size() * (sizeof(RoleKey) + sizeof(RoleTotals) + kNode) +
               target.counters.size() * (sizeof(RoleKey) + sizeof(RoleCounters) + kNode);
        for (const ProcessHeap& heap : target.heap) {
            sum += sizeof(ProcessHeap);
            if (heap.held)
                for (const HolderChange& change : heap.held->holders)
                    sum += sizeof(HolderChange) + change.holder.path.capacity() + change.holder.element.capacity();
        }
        for (const ScopeVerdict& verdict : target.verdicts)
            sum += sizeof(ScopeVerdict) + verdict.explanation.capacity() + kNode;
    }
    return Bytes{sum};
}

namespace {

// Rate limits of reports, for one target (which may crash in a loop) and for all targets together: a burst
// (kMostOf...), then one report per interval (kEachOf...).
constexpr double kMostOfTarget = 5;
constexpr Seconds kEachOfTarget = std::chrono::minutes(5);
constexpr double kMostOfAll = 20;
constexpr Seconds kEachOfAll = std::chrono::seconds(30);

constexpr Seconds kMostForSymbols{1};
constexpr double kSettled = 10;  // seconds after which no further death belongs to the same report

constexpr std::size_t kMostEvents = DeathReportBounds::kEvents;
constexpr std::size_t kSiteWidth = 200;

void add_event(std::deque<PastEvent>& events, PastEvent event) {
    events.push_back(std::move(event));
    if (events.size() > kMostEvents) events.pop_front();
}

Snapshot only(const Snapshot& snapshot, const TargetSnapshot& target) {
    Snapshot one{.time = snapshot.time, .host = snapshot.host, .targets = {target}, .self = snapshot.self};
    one.targets.front().deaths.clear();  // these deaths are of an earlier tick
    one.targets.front().last_death.reset();
    return one;
}

// The run whose processes died. If processes of several runs died at the same time: the latest of these runs.
RunId run_of(const DeathMoment& moment, RunId otherwise) {
    RunId run = kNoRun;
    for (const Death& death : moment.deaths) run = std::max(run, death.run);
    return run == kNoRun ? otherwise : run;
}

}  // namespace

DeathReporter::DeathReporter(std::optional<Result<ReportStore>> store, GrowthOf growth)
    : store_(std::move(store)), growth_(std::move(growth)), rate_limit_(kMostOfAll, kEachOfAll) {}

// The target in the latest snapshot, or in an earlier one if the target could not be read since.
const TargetSnapshot* DeathReporter::last_seen(const std::string& target) const {
    for (auto snapshot = recent_.all().rbegin(); snapshot != recent_.all().rend(); ++snapshot)
        if (const TargetSnapshot* found = find_target(**snapshot, target)) return found;
    return nullptr;
}

// Updates the history of each target. A history is dropped when its target does not exist any more.
void DeathReporter::follow(const Snapshot& snapshot) {
    for (const TargetSnapshot& target : snapshot.targets) {
        const TargetSnapshot* was = histories_.contains(target.info.name) ? last_seen(target.info.name) : nullptr;
        History& history =
            histories_.try_emplace(target.info.name, History{.rate_limit = TokenBucket(kMostOfTarget, kEachOfTarget)})
                .first->second;
        for (PastEvent& event : events_between(was, target, snapshot.time)) add_event(history.events, std::move(event));
        if (history.latest && snapshot.time - history.latest->report.decisive().time > kSettled) history.latest.reset();
    }
    std::erase_if(histories_, [&](const auto& each) {
        return !find_target(snapshot, each.first) && !snapshot.has_unread(each.first);
    });
}

// The processes of a tree seldom die at the same instant. Deaths that follow shortly are added to the existing report.
bool DeathReporter::follows_another(const DeathMoment& moment) {
    const auto add_to = [&](Pending& earlier) {
        DeathReport& report = earlier.report;
        if (report.target().info.name != moment.target || !belongs_to(moment, report.decisive())) return false;
        report.deaths.insert(report.deaths.end(), moment.deaths.begin(), moment.deaths.end());
        keep_within_bounds(report);
        write(earlier);
        return true;
    };
    if (std::ranges::any_of(pending_, add_to)) {
        printed_.insert(moment.target);  // finish_reports() prints these deaths
        return true;
    }
    std::optional<Pending>& latest = histories_.at(moment.target).latest;
    if (!latest || !add_to(*latest)) return false;
    complete_.push_back(std::make_shared<const DeathReport>(latest->report));
    return true;
}

bool DeathReporter::admit(const DeathMoment& moment, Seconds now) {
    History& history = histories_.at(moment.target);
    if (history.rate_limit.may(now) && rate_limit_.may(now)) {
        history.rate_limit.take();
        rate_limit_.take();
        return true;
    }
    history.unreported += moment.deaths.size();
    unreported_ += moment.deaths.size();
    ++unreported_moments_;
    return false;
}

DeathReport DeathReporter::describe(const DeathMoment& moment, const Snapshot& now) {
    History& history = histories_.at(moment.target);
    const Snapshot* alive = last_alive(recent_.all(), moment.target, moment.deaths.front());
    const Snapshot& then = alive ? *alive : now;  // `now`: the target began and died within one tick
    DeathReport report{.deaths = moment.deaths,
                       .unreported = std::exchange(history.unreported, 0),
                       .then = only(then, *find_target(then, moment.target)),
                       .series = history.held.points(),
                       .events = events_of_series(*find_target(then, moment.target))};
    // Another run may have been the current one at that tick, so the growth of the run that died is requested.
    report.then.targets.front().run = run_of(moment, report.target().run);
    report.events.insert(report.events.end(), history.events.begin(), history.events.end());
    std::ranges::stable_sort(report.events, {}, &PastEvent::time);
    report.advice = advice_for(report, "");
    return report;
}

void DeathReporter::write(Pending& pending) {
    if (!store_) return;
    const DeathReport& report = pending.report;
    const std::string name = report_name(report.decisive().time, report.target().info.name, report.decisive().id.pid);
    const Status written = *store_ ? (**store_).write(name, death_report_json(report) + "\n") : Status(store_->error());
    if (written) {
        pending.file = ((**store_).path() / name).string();
        in_trouble_ = false;
        return;
    }
    if (pending.file.empty() && !std::exchange(pending.failed, true)) ++failed_;  // else an earlier version exists
    if (!std::exchange(in_trouble_, true))
        troubles_.push_back("memscope: the report of a death could not be written: " + written.error().message());
}

void DeathReporter::take(const Snapshot& snapshot, Seconds now) {
    follow(snapshot);
    printed_.clear();
    for (const DeathMoment& moment : death_moments(snapshot)) {
        const bool follows = follows_another(moment);
        if (!moment.is_news()) continue;
        if (!follows && admit(moment, now)) {
            Pending pending{.report = describe(moment, snapshot)};
            if (growth_) pending.processes = pending.report.target().processes;
            keep_within_bounds(pending.report);
            write(pending);
            pending_.push_back(std::move(pending));
            printed_.insert(moment.target);
        }
        const Death& decisive = moment.deaths.front();
        const std::size_t others = moment.deaths.size() - 1;
        add_event(histories_.at(moment.target).events,
                  {decisive.time, "death",
                   death_text(decisive) + (others > 0 ? fmt::format(" {} more died with it.", others) : "")});
    }
    for (const TargetSnapshot& target : snapshot.targets)
        if (!target.processes.empty())  // memory that is left after the last exit is not memory of the job
            histories_.at(target.info.name).held.add({snapshot.time, judged_memory(target), target.memory.usage});
}

SnapshotPtr DeathReporter::others(const SnapshotPtr& snapshot) const {
    if (printed_.empty()) return snapshot;
    auto copy = std::make_shared<Snapshot>(*snapshot);
    for (TargetSnapshot& target : copy->targets)
        if (printed_.contains(target.info.name)) target.deaths.clear();
    return copy;
}

// False: symbols are still being loaded.
bool DeathReporter::add_growth(Pending& pending, Seconds now, Symbols symbols) {
    DeathReport& report = pending.report;
    if (!pending.growth) {
        TargetSnapshot whole = report.target();
        whole.processes = std::exchange(pending.processes, {});
        pending.growth = growth_(whole);
        pending.until = now + kMostForSymbols;
    }
    report.growth = pending.growth(now < pending.until ? symbols : Symbols::as_loaded);
    if (!report.growth) return false;
    report.advice = advice_for(report, top_site_of(report, kSiteWidth));
    keep_within_bounds(report);
    write(pending);
    pending.growth = {};  // it holds all call sites, which take much memory
    return true;
}

std::optional<Seconds> DeathReporter::symbols_until() const {
    const auto first = std::ranges::min_element(pending_, {}, &Pending::until);
    return first == pending_.end() ? std::nullopt : std::optional(first->until);
}

std::vector<std::vector<std::string>> DeathReporter::finish_reports(Seconds now, Symbols symbols) {
    std::vector<std::vector<std::string>> blocks;
    reported_.clear();
    for (Pending& pending : std::exchange(pending_, {})) {
        if (growth_ && !add_growth(pending, now, symbols)) {
            pending_.push_back(std::move(pending));
            continue;
        }
        const DeathReport& report = pending.report;
        blocks.push_back(death_block(report, pending.file));
        complete_.push_back(std::make_shared<const DeathReport>(report));
        reported_.push_back({report.target().info, report.deaths, report.deaths_left_out, pending.file});
        if (const auto history = histories_.find(report.target().info.name); history != histories_.end())
            history->second.latest = std::move(pending);
    }
    if (!troubles_.empty()) blocks.push_back(std::exchange(troubles_, {}));
    return blocks;
}

}  // namespace memscope
