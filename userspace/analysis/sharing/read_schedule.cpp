#include "analysis/sharing/read_schedule.h"

#include <algorithm>

namespace memscope {
namespace {

constexpr Seconds kMostEarned{0.1};  // what ten seconds without a read leave for one that is long
constexpr Seconds kForkedEvery{2};   // not sooner, however small
constexpr Seconds kOthersEvery{10};
constexpr Seconds kOpening{20e-6};  // and closing: what the smallest process costs
constexpr double kMebibyte = 1 << 20;
constexpr double kLearnFrom = 16;  // MiB; less tells nothing about the cost of a page
constexpr double kForget = 0.5;    // a slow one does not make all others wait for ever
constexpr double kUsualWalk =
    38'400;  // ns a MiB, 150 a page; huge pages are faster, but the next process may have none

// A minute over what may be held in it.
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

    // Who was never read comes first, forked ones before others, then who is due longest; the biggest of equals.
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
        next.record->next = now + cost * kRestPerHeld;  // until it is known what it took
        next.record->whole = whole;
        chosen.push_back({next.candidate->id, whole});
    }
    return chosen;
}

void ReadSchedule::took(Seconds now, ProcessId id, Cost cost) {
    earned_ -= cost.cpu;
    const auto found = records_.find(id);
    if (found == records_.end()) return;  // gone meanwhile
    Record& record = found->second;
    record.read = true;
    if (cost.held > kMostHeldPerMinute) ++record.too_long;
    record.next =
        now + std::max(cost.held * kRestPerHeld * (1 + record.too_long), record.forked ? kForkedEvery : kOthersEvery);
    if (const double mib = static_cast<double>(record.resident.n) / kMebibyte; record.whole && mib >= kLearnFrom)
        ns_per_mib_ = std::max({(cost.cpu - kOpening).count() * 1e9 / mib, ns_per_mib_ * kForget, kUsualWalk});
}

}  // namespace memscope
