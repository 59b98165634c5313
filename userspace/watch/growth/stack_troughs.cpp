#include "watch/growth/stack_troughs.h"

#include <algorithm>

namespace memscope {

std::vector<std::int64_t> StackTroughs::passing(const HostTensorReading& reading, Seconds now) {
    std::map<HostTensorReading::Calls, std::int64_t> held;
    for (const HostTensorSite& site : reading.sites) held[{site.space, site.calls}] += site.bytes;
    std::map<HostTensorReading::Calls, std::int64_t> left;
    for (const auto& [calls, frees] : reading.calls) {
        Trough& trough = troughs_[calls];
        if (frees) trough.note(now, frees->low, frees->high, frees->fall);
        left[calls] = trough.passing(now, held[calls]);
    }
    const bool too_many = troughs_.size() > kMostTroughs;
    std::erase_if(troughs_, [&](const auto& each) {
        return !reading.calls.contains(each.first) && (too_many || each.second.is_over(now));
    });
    std::vector<std::int64_t> parts;
    parts.reserve(reading.sites.size());
    for (const HostTensorSite& site : reading.sites) {
        const auto found = left.find({site.space, site.calls});
        // The calls of this site are not in the reading, so nothing is known about what the site keeps.
        const std::int64_t part = found == left.end() ? site.bytes : std::min(site.bytes, found->second);
        if (found != left.end()) found->second -= part;
        parts.push_back(part);
    }
    return parts;
}

}  // namespace memscope
