#include "analysis/attribution.h"

#include <algorithm>
#include <tuple>

#include "analysis/library_frame.h"

namespace memscope {
namespace {

bool alike(const NativeFrame& a, const NativeFrame& b) {
    if (a.symbol != b.symbol || a.module != b.module) return false;
    return !a.symbol.empty() || a.offset == b.offset;
}

bool comes_before(const NativeFrame& a, const NativeFrame& b) {
    const std::uint64_t a_offset = a.symbol.empty() ? a.offset : 0;
    const std::uint64_t b_offset = b.symbol.empty() ? b.offset : 0;
    return std::tie(a.module, a.symbol, a_offset) < std::tie(b.module, b.symbol, b_offset);
}

struct SamePlaceFirst {
    bool operator()(const GrowthSite* a, const GrowthSite* b) const {
        if (a->role != b->role) return a->role < b->role;
        if (a->python != b->python) return a->python < b->python;
        return std::lexicographical_compare(a->native.begin(), a->native.end(), b->native.begin(), b->native.end(),
                                            comes_before);
    }
};

bool same_place(const GrowthSite& a, const GrowthSite& b) {
    return a.role == b.role && a.python == b.python &&
           std::equal(a.native.begin(), a.native.end(), b.native.begin(), b.native.end(), alike);
}

void add(GrowthSite& to, const GrowthSite& from) {
    to.bytes += from.bytes;
    to.living_bytes += from.living_bytes;
    to.pids.insert(to.pids.end(), from.pids.begin(), from.pids.end());
}

// `sites` of one place stand next to each other and become one.
template <class Order, class Same>
std::vector<GrowthSite> merged(std::vector<GrowthSite> sites, Order order, Same same) {
    std::vector<GrowthSite*> in_order;
    in_order.reserve(sites.size());
    for (GrowthSite& site : sites) in_order.push_back(&site);
    std::stable_sort(in_order.begin(), in_order.end(), order);
    std::vector<GrowthSite> result;
    for (GrowthSite* site : in_order) {
        if (!result.empty() && same(result.back(), *site))
            add(result.back(), *site);
        else
            result.push_back(std::move(*site));
    }
    std::erase_if(result, [](const GrowthSite& site) { return site.bytes == 0 && site.living_bytes == 0; });
    for (GrowthSite& site : result) {
        std::sort(site.pids.begin(), site.pids.end());
        site.pids.erase(std::unique(site.pids.begin(), site.pids.end()), site.pids.end());
    }
    std::stable_sort(result.begin(), result.end(),
                     [](const GrowthSite& a, const GrowthSite& b) { return a.bytes > b.bytes; });
    return result;
}

}  // namespace

std::vector<GrowthSite> merged_sites(std::vector<GrowthSite> sites) {
    return merged(std::move(sites), SamePlaceFirst{}, same_place);
}

std::vector<GrowthSite> merged_by_line(std::vector<GrowthSite> sites) {
    const auto order = [](const GrowthSite* a, const GrowthSite* b) {
        if (a->role != b->role) return a->role < b->role;
        return a->python < b->python;
    };
    return merged(std::move(sites), order, [](const GrowthSite& a, const GrowthSite& b) {
        return !a.python.empty() && a.role == b.role && a.python == b.python;
    });
}

const PythonFrame* telling_frame(const std::vector<PythonFrame>& frames) {
    const auto own = std::ranges::find_if_not(frames, is_library);
    if (own != frames.end()) return &*own;
    return frames.empty() ? nullptr : &frames.front();
}

}  // namespace memscope
