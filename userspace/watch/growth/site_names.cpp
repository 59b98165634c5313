#include "watch/growth/site_names.h"

#include <algorithm>

#include "analysis/growth/attribution.h"

namespace memscope {
namespace {

NativeFrame unnamed(const NativeLocation& location) {
    return {
        .symbol = {}, .module = location.module ? location.module->name() : std::string(), .offset = location.offset};
}

}  // namespace

const NativeFrame& SiteNames::named(const NativeLocation& location) {
    const auto [place, is_new] = known_.try_emplace({location.module, location.offset, location.is_return});
    if (!is_new) return place->second;
    place->second = symbols_.name(location, wait_);
    if (place->second.symbol.empty() && location.module && location.module->is_loading()) complete_ = false;
    return place->second;
}

GrowthPlane SiteNames::plane(std::vector<SiteGrowth> growths) {
    struct Sum {
        CallSitePtr site{};
        GrowthSite growth{};
    };
    const auto place = [](const SiteGrowth& one) { return std::tuple(one.site.get(), one.role); };
    std::sort(growths.begin(), growths.end(),
              [&](const SiteGrowth& a, const SiteGrowth& b) { return place(a) < place(b); });
    std::vector<Sum> sums;
    for (SiteGrowth& one : growths) {
        if (sums.empty() || sums.back().site != one.site || sums.back().growth.role != one.role)
            sums.push_back({std::move(one.site), {.role = one.role}});
        GrowthSite& growth = sums.back().growth;
        growth.bytes += one.bytes;
        growth.pids.push_back(one.pid);
    }
    std::stable_sort(sums.begin(), sums.end(),
                     [](const Sum& a, const Sum& b) { return a.growth.bytes > b.growth.bytes; });
    GrowthPlane plane;
    plane.sites.reserve(sums.size());
    for (Sum& sum : sums) {
        const bool with_symbols = wait_ == NativeReads::Wait::yes || plane.sites.size() < kMostNamed;
        sum.growth.python = sum.site->python.copied();
        sum.growth.native.reserve(sum.site->native.size());
        for (const NativeLocation& location : sum.site->native)
            sum.growth.native.push_back(with_symbols ? named(location) : unnamed(location));
        plane.sites.push_back(std::move(sum.growth));
    }
    plane.sites = merged_sites(std::move(plane.sites));
    return plane;
}

}  // namespace memscope
