#include "outputs/growth_pprof.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <set>
#include <tuple>

#include "outputs/growth_frames.h"
#include "outputs/gzip.h"
#include "outputs/profile_proto.h"
#include "outputs/version.h"

namespace memscope {
namespace {

constexpr const char* kPlanes[] = {"resident", "mapped", "gpu", "pinned"};
using PlaneBytes = std::array<std::int64_t, std::size(kPlanes)>;

// The same stack of the same role: its growth in all planes.
struct Grown {
    PlaneBytes bytes{};
    std::set<pid_t> pids{};
};
// With that part of the native stack that is shown.
using SiteKey = std::tuple<RoleKey, std::vector<PythonFrame>, std::vector<NativeFrame>>;

std::vector<std::uint64_t> locations_of(ProfileProto& profile, const SiteKey& site) {
    const auto& [role, python, native] = site;
    std::vector<std::uint64_t> locations;
    for (const NativeFrame& frame : native)
        locations.push_back(profile.location(frame.module, frame.offset, name_of(frame)));
    for (const PythonFrame& frame : python)
        locations.push_back(profile.location(name_of(frame), frame.file, std::max(frame.line, 0)));
    if (locations.empty()) locations.push_back(profile.location("[no stack]", "", 0));
    return locations;
}

void add_apart(ProfileProto& profile, const std::string& name, std::size_t plane, std::int64_t bytes) {
    PlaneBytes values{};
    values[plane] = bytes;
    profile.add_sample({profile.location(name, "", 0)}, values, {});
}

}  // namespace

std::string growth_pprof(const GrowthReport& report) {
    ProfileProto profile;
    for (const char* plane : kPlanes) profile.add_sample_type(plane, "bytes");
    profile.set_default(kPlanes[0]);
    profile.set_time(report.time);
    profile.add_comment(fmt::format("memscope {}, target {}", kVersion, report.target.name));

    const Growth& growth = report.growth;
    const GrowthPlane* planes[] = {&growth.resident, &growth.mapped, &growth.gpu, &growth.pinned};
    static_assert(std::size(planes) == std::size(kPlanes));
    std::map<SiteKey, Grown> grown;
    for (std::size_t plane = 0; plane < std::size(kPlanes); ++plane) {
        const ShownSites shown = shown_sites(*planes[plane], report.top);
        for (const GrowthSite& site : shown.sites) {
            const std::span native = parts_of(site).native;
            Grown& here = grown[{site.role, site.python, {native.begin(), native.end()}}];
            here.bytes[plane] = add_bytes(here.bytes[plane], site.bytes);
            here.pids.insert(site.pids.begin(), site.pids.end());
        }
        if (shown.left_out > 0)
            add_apart(profile, fmt::format("[left out: {} call sites]", shown.left_out), plane, shown.left_out_bytes);
        for (const UnattributedGrowth& part : planes[plane]->unattributed)
            add_apart(profile, "[unattributed: " + part.reason + "]", plane, part.bytes);
    }
    for (const auto& [key, here] : grown) {
        const RoleKey& role = std::get<RoleKey>(key);
        ProfileProto::Labels labels{{"role", std::string(name_of(role.role))}};
        if (role.rank) labels.push_back({"rank", std::to_string(*role.rank)});  // as a number, 0 would be none
        labels.push_back({"processes", static_cast<std::int64_t>(here.pids.size())});
        profile.add_sample(locations_of(profile, key), here.bytes, labels);
    }
    return gzipped(std::move(profile).finish());
}

}  // namespace memscope
