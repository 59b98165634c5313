// Cgroup names as users type them, against cgroup names as other users made them. A line each: pattern, then paths.
#include "base/text.h"
#include "fuzz.h"
#include "sources/cgroup/cgroup_glob.h"
#include "sources/cgroup/cgroup_path.h"

namespace memscope::fuzz {
namespace {

bool glob_matches(std::string_view pattern, std::string_view path) {
    const auto components = split(pattern, '/');
    GlobProgress progress(components);
    for (const std::string_view name : split(path, '/')) {
        const bool could = progress.can_match_below();
        progress = progress.after(name);
        require(could || !progress.matches(), "nothing matches where nothing could", path);
    }
    return progress.matches();
}

}  // namespace

void one(std::string_view bytes) {
    const auto lines = split(bytes, '\n');
    const std::string_view typed = lines.front();
    const CgroupHierarchy hierarchy{.version = 1, .mount = "/sys/fs/cgroup/memory"};
    if (const auto name = parsed(parse_cgroup_name(typed, hierarchy))) {
        const auto& path = name->path;
        require(!path.starts_with('/') && !path.ends_with('/') && path.find("//") == std::string::npos,
                "a path has no empty component", path);
        require(("/" + path + "/").find("/../") == std::string::npos, "a path does not lead out", path);
        require(name->glob == has_wildcard(path), "a glob is what has a wildcard", path);
        require(name->glob || path.empty() || glob_matches(path, path), "a plain path matches itself", path);
        parsed(parse_cgroup_name("/" + path, hierarchy));
    }
    std::vector<std::string> existing;
    for (const std::string_view path : lines) {
        // The option -timeout checks the property: no pattern, with any stars and brackets, hangs on any path.
        const bool matches = glob_matches(typed, path);
        require(!matches || path.empty() || glob_matches("**", path), "** matches what anything matches", path);
        component_matches(typed, last_component(path));
        existing.emplace_back(path);
    }
    const auto near = similar_names(typed, existing);
    require(near.size() <= 3, "no more suggestions than asked for");
}

}  // namespace memscope::fuzz
