#include "watch/growth/stack_troughs.h"

#include <algorithm>
#include <utility>

namespace memscope {

std::vector<std::int64_t> StackTroughs::passing(const HostTensorReading& reading, Seconds now) {
    std::map<HostTensorReading::Calls, std::int64_t> held;
    for (const HostTensorSite& site : reading.sites) held[{site.space, site.calls}] += site.bytes;
    std::map<HostTensorReading::Calls, Trough> troughs;
    std::map<HostTensorReading::Calls, std::int64_t> left;
    for (const auto& [calls, frees] : reading.calls) {
        auto known = troughs_.extract(calls);
        Trough& trough = known ? troughs.insert(std::move(known)).position->second : troughs[calls];
        if (frees) trough.note(now, frees->low, frees->high, frees->fall);
        left[calls] = trough.passing(now, held[calls]);
    }
    troughs_ = std::move(troughs);
    std::vector<std::int64_t> parts;
    parts.reserve(reading.sites.size());
    for (const HostTensorSite& site : reading.sites) {
        const auto found = left.find({site.space, site.calls});
        // Without its calls it is not known what a site keeps.
        const std::int64_t part = found == left.end() ? site.bytes : std::min(site.bytes, found->second);
        if (found != left.end()) found->second -= part;
        parts.push_back(part);
    }
    return parts;
}

}  // namespace memscope
