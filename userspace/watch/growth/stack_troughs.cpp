#include "watch/growth/stack_troughs.h"

#include <algorithm>

namespace memscope {

void StackTroughs::know(const RawStack& stack) {
    if (stack.python.empty() || calls_.size() >= 2 * kMostKnown) return;
    std::uint64_t hash = 14695981039346656037U;  // FNV-1a, by words
    for (const RawStack::PythonCall& call : stack.python)
        for (const std::uint64_t word : {call.code, std::uint64_t{call.instruction}})
            hash = (hash ^ word) * 1099511628211U;
    calls_[stack.id] = hash;
}

StackTroughs::Group StackTroughs::group_of(const HostTensorSite& site) const {
    const auto known = calls_.find(site.stack);
    return {site.space, known == calls_.end() ? static_cast<std::uint64_t>(site.stack) : known->second};
}

void StackTroughs::forget_all_but(std::span<const HostTensorSite> sites) {
    std::unordered_map<StackId, std::uint64_t> calls;
    for (const HostTensorSite& site : sites)
        if (const auto known = calls_.find(site.stack); known != calls_.end()) calls.insert(*known);
    calls_ = std::move(calls);
}

std::vector<std::int64_t> StackTroughs::passing(std::span<const HostTensorSite> sites, Seconds now) {
    struct Sum {
        std::int64_t bytes = 0;
        std::int64_t low = 0;
        std::int64_t high = 0;
        bool freed = false;
    };
    // The stacks of a group need not have been low at the same time, nor high. So the fall may be overestimated, and
    // the line keeps at least what is left.
    std::map<Group, Sum> sums;
    for (const HostTensorSite& site : sites) {
        Sum& sum = sums[group_of(site)];
        sum.bytes += site.bytes;
        sum.low += site.low.value_or(site.bytes);
        sum.high += site.low ? site.high : site.bytes;
        sum.freed = sum.freed || site.low;
    }
    std::map<Group, Trough> troughs;
    std::map<Group, std::int64_t> left;
    for (const auto& [group, sum] : sums) {
        auto known = troughs_.extract(group);
        if (!known && !sum.freed) continue;
        Trough& trough = known ? troughs.insert(std::move(known)).position->second : troughs[group];
        if (sum.freed) trough.note(now, sum.low, sum.high);
        left[group] = trough.passing(now, sum.bytes);
    }
    troughs_ = std::move(troughs);
    std::vector<std::int64_t> parts;
    parts.reserve(sites.size());
    for (const HostTensorSite& site : sites) {
        const auto found = left.find(group_of(site));
        const std::int64_t part = found == left.end() ? 0 : std::min(site.bytes, found->second);
        if (found != left.end()) found->second -= part;
        parts.push_back(part);
    }
    if (calls_.size() > kMostKnown) forget_all_but(sites);
    return parts;
}

}  // namespace memscope
