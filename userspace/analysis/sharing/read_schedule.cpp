#include "analysis/sharing/read_schedule.h"

#include <algorithm>

namespace memscope {
namespace {

constexpr Seconds kMostEarned{0.1};  // largest budget: that of ten seconds without a read
constexpr Seconds kForkedEvery{2};   // shortest interval, also for small processes
constexpr Seconds kOthersEvery{10};
constexpr Seconds kOpening{20e-6};  // cost of opening and closing the file, the least cost of any process
constexpr double kMebibyte = 1 << 20;
constexpr double kLearnFrom = 16;  // MiB; the cost per page cannot be learned from smaller processes
constexpr double kForget = 0.5;    // decay, so that one slow process does not delay all others for ever
constexpr double kUsualWalk =
    38'400;  // ns per MiB, 150 ns per page; huge pages are faster, but the next process may have none

// One minute divided by the time that a process may be held in it.
const double kRestPerHeld = Seconds{60} / ReadSchedule::kMostHeldPerMinute;

}  // namespace

ReadSchedule::ReadSchedule() : ns_per_mib_(kUsualWalk) {}

Seconds ReadSchedule::walk_of(Bytes resident) const {
    return kOpening + Seconds{static_cast<double>(resident.n) / kMebibyte * ns_per_mib_ * 1e-9};
}

void ReadSchedule::earn(Seconds now) {
    if (earned_at_ >= Seconds{0} && now > earned_at_)
        earned_ = std::min(earned_ + (now - earned_at_) * kShareOfCore, kMostEarned);
    earned_at_ = now;
}

std::vector<ReadSchedule::Choice> ReadSchedule::choose(Seconds now, std::span<const Candidate> candidates) {
    earn(now);
    ++round_;
    struct Due {
        const Candidate* candidate;
        Record* record;
    };
    std::vector<Due> due;
    for (const Candidate& candidate : candidates) {
        Record& record = records_[candidate.id];
        record.seen = round_;
        if (now >= record.next) due.push_back({&candidate, &record});
    }
    std::erase_if(records_, [&](const auto& entry) { return entry.second.seen != round_; });

    // Processes that were never read come first, forked ones before others. Then come the processes that are due for
    // longest, the largest first.
    std::ranges::sort(due, [](const Due& a, const Due& b) {
        if (a.record->read != b.record->read) return !a.record->read;
        if (!a.record->read && a.candidate->forked != b.candidate->forked) return a.candidate->forked;
        if (a.record->next != b.record->next) return a.record->next < b.record->next;
        return a.candidate->resident > b.candidate->resident;
    });
    std::vector<Choice> chosen;
    Seconds left = earned_;
    for (const Due& next : due) {
        const Seconds walk = walk_of(next.candidate->resident);
        const bool whole = walk <= kLongestWalk;
        const Seconds cost = whole ? walk : kLongestSample;
        if (cost > left) break;
        left -= cost;
        next.record->resident = next.candidate->resident;
        next.record->forked = next.candidate->forked;
        next.record->next = now + cost * kRestPerHeld;  // until the actual cost is known
        next.record->whole = whole;
        chosen.push_back({next.candidate->id, whole});
    }
    return chosen;
}

void ReadSchedule::took(Seconds now, ProcessId id, Cost cost) {
    earned_ -= cost.cpu;
    const auto found = records_.find(id);
    if (found == records_.end()) return;  // the process has exited meanwhile
    Record& record = found->second;
    record.read = true;
    if (cost.held > kMostHeldPerMinute) ++record.too_long;
    record.next =
        now + std::max(cost.held * kRestPerHeld * (1 + record.too_long), record.forked ? kForkedEvery : kOthersEvery);
    if (const double mib = static_cast<double>(record.resident.n) / kMebibyte; record.whole && mib >= kLearnFrom)
        ns_per_mib_ = std::max({(cost.cpu - kOpening).count() * 1e9 / mib, ns_per_mib_ * kForget, kUsualWalk});
}

}  // namespace memscope
