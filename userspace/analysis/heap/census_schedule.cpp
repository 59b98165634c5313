#include "analysis/heap/census_schedule.h"

#include <algorithm>

namespace memscope {
namespace {

constexpr Bytes kLeastProcess{std::uint64_t{32} << 20};
constexpr double kLeastShare = 0.05;  // of the largest process
constexpr std::size_t kMostWaiting = 256;
// A census for the end of the warm-up is useless if it is taken much later.
constexpr Seconds kKeepReading = std::chrono::minutes(10);
constexpr Seconds kSpentStep = std::chrono::minutes(1);
constexpr Seconds kLeastCost{0.01};
constexpr Seconds kMostObjectsCost{15};
constexpr Seconds kMostCost{5};    // a census has this time limit
constexpr double kLearnFrom = 64;  // MiB; the cost per byte cannot be learned from smaller processes
constexpr double kForget = 0.5;    // decay, so that one slow process does not delay all others for ever
constexpr double kUsual = 0.2 / (std::uint64_t{1} << 30);         // seconds per byte
constexpr double kUsualObjects = 1.0 / (std::uint64_t{1} << 30);  // seconds per byte, with Python objects
// The shortest time between two censuses of a process, as a share of the usual time, if its leak was just found or if
// watching has just begun.
constexpr double kSoon = 0.05;
// Shares of the time of a core.
constexpr double kShareOfCore = 0.01, kShareOfAllCores = 0.001, kMostOfCore = 0.1;
constexpr double kWithoutObjects = 0.1;  // part of the budget
// Growth in the window of StartWatch.
constexpr double kCalm = 0.2;                              // share of the largest one
constexpr std::uint64_t kLittle = std::uint64_t{1} << 20;  // bytes
constexpr double kYoung = 12;                              // age of a process, in windows

}  // namespace

std::size_t count_large(std::span<const Process> processes, const std::optional<RoleKey>& role) {
    Bytes most = kLeastProcess;
    for (const Process& process : processes) most = std::max(most, process.own_anon());
    return static_cast<std::size_t>(std::ranges::count_if(processes, [&](const Process& process) {
        if (role && RoleKey{process.role, process.rank} != *role) return false;
        return process.own_anon() >= kLeastProcess &&
               static_cast<double>(process.own_anon().n) >= kLeastShare * static_cast<double>(most.n);
    }));
}

std::vector<CensusWish> largest_processes(std::span<const Process> processes) {
    std::map<RoleKey, const Process*> largest;
    for (const Process& process : processes) {
        const Process*& of_role = largest[{process.role, process.rank}];
        if (!of_role || process.own_anon() > of_role->own_anon()) of_role = &process;
    }
    std::vector<CensusWish> wishes;
    for (const auto& [role, process] : largest)
        if (process->own_anon() >= kLeastProcess) wishes.push_back({process->task.id, process->own_anon()});
    std::ranges::stable_sort(wishes, [](const CensusWish& a, const CensusWish& b) { return a.anon > b.anon; });
    if (wishes.size() > kMostCensuses) wishes.resize(kMostCensuses);
    std::erase_if(wishes, [most = wishes.empty() ? Bytes{} : wishes.front().anon](const CensusWish& wish) {
        return static_cast<double>(wish.anon.n) < kLeastShare * static_cast<double>(most.n);
    });
    return wishes;
}

CensusTrigger::Reason CensusTrigger::update(Seconds now, const TargetSnapshot& target) {
    bool warmup_ended = false;
    bool urgent = false;
    bool found = false;
    std::set<Scope> leaking;
    for (const ScopeVerdict& verdict : target.verdicts) {
        if (verdict.scope == VerdictScope::pinned) continue;
        if (verdict.scope == VerdictScope::target) {
            const bool warmed_up = verdict.judgement.warmup_ended.has_value();
            warmup_ended = warmed_up && !warmed_up_;
            warmed_up_ = warmed_up;
        }
        if (verdict.judgement.verdict != Verdict::leaking) continue;
        const Scope scope{verdict.scope, verdict.role, verdict.gpu};
        found = found || !leaking_.contains(scope);
        leaking.insert(scope);
    }
    urgent = found || (!leaking.empty() && now - last_urgent_ >= while_leaking_);
    leaking_ = std::move(leaking);
    std::set<PrecursorKind> precursors;
    for (const Precursor& precursor : target.precursors) {
        urgent = urgent || !precursors_.contains(precursor.kind);
        precursors.insert(precursor.kind);
    }
    precursors_ = std::move(precursors);
    if (urgent) last_urgent_ = now;
    if (found) return Reason::leak_found;
    return urgent ? Reason::urgent : warmup_ended ? Reason::warmup_ended : Reason::none;
}

bool StartWatch::has_calmed(Seconds now, Bytes files, Seconds age) {
    if (!began_) began_ = now;
    sizes_.push_back({now, files});
    // The oldest size is the last one that is at least a window old.
    while (sizes_.size() > 1 && now - sizes_[1].at >= window_) sizes_.pop_front();
    if (now - *began_ < window_) return false;
    const std::uint64_t then = sizes_.front().files.n;
    const std::uint64_t grown = files.n - std::min(files.n, then);
    fastest_ = std::max(fastest_, grown);
    return grown < kLittle || static_cast<double>(grown) < kCalm * static_cast<double>(fastest_) ||
           age >= kYoung * window_ || now - *began_ >= kLatest * window_;
}

CensusSchedule::CensusSchedule(Seconds again, unsigned cores)
    : again_(again),
      objects_budget_(kWindow * std::min(std::max(kShareOfCore, kShareOfAllCores * cores), kMostOfCore)),
      budget_(objects_budget_ * kWithoutObjects),
      parts_{.seconds_per_byte = kUsual},
      objects_{.seconds_per_byte = kUsualObjects} {}

void CensusSchedule::want(Seconds now, const CensusWish& wish) {
    const auto same = [&](const Waiting& waiting) { return waiting.wish.process == wish.process; };
    if (const auto found = std::ranges::find_if(wishes_, same); found != wishes_.end()) {
        found->wish = {wish.process,
                       wish.anon,
                       wish.urgent || found->wish.urgent,
                       wish.objects || found->wish.objects,
                       wish.soon || found->wish.soon,
                       wish.always || found->wish.always,
                       std::max(wish.saved, found->wish.saved)};
        return;
    }
    if (wishes_.size() >= kMostWaiting) {
        const auto least = std::ranges::find_if(wishes_, [](const Waiting& waiting) { return !waiting.wish.urgent; });
        wishes_.erase(least == wishes_.end() ? wishes_.begin() : least);
    }
    wishes_.push_back({wish, now});
}

Seconds CensusSchedule::estimate(Bytes anon, bool objects) const {
    const Ledger& ledger = objects ? objects_ : parts_;
    return std::clamp(Seconds{static_cast<double>(anon.n) * ledger.seconds_per_byte}, kLeastCost,
                      objects ? kMostObjectsCost : kMostCost);
}

Seconds CensusSchedule::Ledger::sum(Seconds now) {
    while (!spent.empty() && now - spent.front().at > kWindow) spent.pop_front();
    Seconds sum{};
    for (const Spent& each : spent) sum += each.cpu;
    return sum;
}

void CensusSchedule::Ledger::add(Seconds now, Seconds cpu) {
    // The costs of one minute are added up and dated at the end of that minute, so that the sum covers at least a whole
    // window.
    if (!spent.empty() && now - spent.back().at < Seconds{})
        spent.back().cpu += cpu;
    else
        spent.push_back({now + kSpentStep, cpu});
}

// A census that alone costs more than the budget may be taken if there was no other in the window.
bool CensusSchedule::fits(Seconds now, const CensusWish& wish, bool objects) {
    const Seconds so_far = (objects ? objects_ : parts_).sum(now);
    const Seconds cost = estimate(wish.anon, objects);
    return so_far <= Seconds{} || cost <= wish.saved || so_far + cost <= (objects ? objects_budget_ : budget_);
}

std::optional<CensusWish> CensusSchedule::next(Seconds now) {
    std::erase_if(wishes_,
                  [&](const Waiting& waiting) { return !waiting.wish.urgent && now - waiting.since > kKeepReading; });
    const auto is_early = [&](const Waiting& waiting) {
        const auto last = last_.find(waiting.wish.process);
        return last != last_.end() &&
               now - last->second < (waiting.wish.always || waiting.wish.soon ? kSoon * again_ : again_);
    };
    const auto rank = [](const CensusWish& wish) { return wish.always ? 2 : wish.urgent ? 1 : 0; };
    auto chosen = wishes_.end();
    for (auto waiting = wishes_.begin(); waiting != wishes_.end(); ++waiting) {
        if (is_early(*waiting)) continue;
        if (chosen == wishes_.end() || rank(waiting->wish) > rank(chosen->wish)) chosen = waiting;
    }
    if (chosen == wishes_.end()) return std::nullopt;
    CensusWish wish = chosen->wish;
    if (!wish.always) {
        wish.objects = wish.objects && fits(now, wish, true);
        if (!wish.objects && !fits(now, wish, false)) return std::nullopt;
    }
    wishes_.erase(chosen);
    last_[wish.process] = now;
    return wish;
}

void CensusSchedule::took(Seconds now, const ProcessId& process, Bytes anon, Seconds cpu, bool objects) {
    last_[process] = now;
    const Seconds cost = std::max(cpu, Seconds{});
    Ledger& ledger = objects ? objects_ : parts_;
    ledger.add(now, cost);
    if (static_cast<double>(anon.n) >= kLearnFrom * (1 << 20))
        ledger.seconds_per_byte = std::max({cost.count() / static_cast<double>(anon.n),
                                            ledger.seconds_per_byte * kForget, objects ? kUsualObjects : kUsual});
}

void CensusSchedule::keep_only(const std::function<bool(const ProcessId&)>& lives) {
    std::erase_if(wishes_, [&](const Waiting& waiting) { return !lives(waiting.wish.process); });
    std::erase_if(last_, [&](const auto& entry) { return !lives(entry.first); });
}

}  // namespace memscope
