#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"
#include "sources/cgroup_directory.h"
#include "sources/cgroup_glob.h"
#include "sources/cgroup_path.h"

namespace memscope {
namespace {

bool is_unit_name(std::string_view path) {
    if (path.find('/') != std::string_view::npos) return false;
    constexpr std::string_view kSuffixes[] = {".service", ".scope", ".slice", ".socket", ".mount"};
    return std::any_of(std::begin(kSuffixes), std::end(kSuffixes),
                       [&](std::string_view suffix) { return path.size() > suffix.size() && path.ends_with(suffix); });
}

std::string quoted(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += fmt::format("{}'{}'", text.empty() ? "" : ", ", name);
    return text;
}

}  // namespace

std::vector<std::string> list_cgroups(const CgroupHierarchy& hierarchy, const std::string& below,
                                      const WalkBounds& bounds) {
    std::vector<std::string> paths;
    const auto top = CgroupDirectory::open(hierarchy, below);
    if (!top) return paths;
    walk_directories(top->fd(), below, bounds, [&](const WalkedDirectory& directory) {
        paths.push_back(directory.path);
        return true;
    });
    std::sort(paths.begin(), paths.end());
    return paths;
}

MatchingCgroups find_matching(const CgroupHierarchy& hierarchy, const std::string& glob, const WalkBounds& bounds) {
    const auto pattern = split(glob, '/');
    GlobProgress start(pattern);
    std::string prefix;
    for (const std::string_view component : pattern) {
        if (has_wildcard(component)) break;
        prefix = joined(prefix, component);
        start = start.after(component);
    }
    MatchingCgroups matching;
    const auto top = CgroupDirectory::open(hierarchy, prefix);
    if (!top) {
        matching.no_descriptors = is_out_of_descriptors(top.error());
        return matching;
    }
    if (start.matches() && !prefix.empty()) matching.found.push_back({prefix, top->id()});

    std::vector<GlobProgress> levels{start};  // of the directories between the top and the visited one
    const WalkResult walked = walk_directories(top->fd(), prefix, bounds, [&](const WalkedDirectory& directory) {
        levels.erase(levels.begin() + static_cast<std::ptrdiff_t>(directory.depth), levels.end());
        levels.push_back(levels.back().after(directory.name));
        if (levels.back().matches())
            if (const auto id = cgroup_id(directory.fd)) matching.found.push_back({directory.path, *id});
        return levels.back().can_match_below();
    });
    matching.no_descriptors = walked.no_descriptors;
    std::ranges::sort(matching.found, {}, &FoundCgroup::path);
    return matching;
}

Result<std::string> resolve_plain(const CgroupHierarchy& hierarchy, const std::string& path) {
    const auto directory = CgroupDirectory::open(hierarchy, path);
    if (directory) return path;
    if (!is_gone(directory.error()) && directory.error().code != std::errc::not_a_directory) return directory.error();

    const auto existing = list_cgroups(hierarchy, "");
    if (is_unit_name(path)) {
        std::vector<std::string> units;
        std::copy_if(existing.begin(), existing.end(), std::back_inserter(units),
                     [&](const std::string& name) { return last_component(name) == path; });
        if (units.size() == 1) return units.front();
        constexpr std::size_t kNamed = 5;
        if (units.size() > kNamed) units.resize(kNamed);
        if (!units.empty())
            return plain_error(fmt::format("the unit '{}' has more than one cgroup", path),
                               fmt::format("name one by its path: {}", quoted(units)));
    }
    const auto near = near_names(path, existing);
    return system_error(
        ENOENT, fmt::format("no cgroup '{}' below {}", path, hierarchy.mount.native()),
        near.empty() ? "--wait waits for it" : fmt::format("did you mean {}? or --wait for it", quoted(near)));
}

}  // namespace memscope
