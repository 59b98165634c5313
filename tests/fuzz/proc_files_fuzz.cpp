// Files of /proc. A watched process can write hostile data into its own files (argv, environ, the name in stat, mount
// points).
#include "fuzz.h"
#include "sources/cgroup/cgroup_hierarchy.h"
#include "sources/proc/pagemap.h"
#include "sources/proc/process_maps.h"
#include "sources/proc/procfs.h"
#include "sources/proc/self_usage.h"
#include "sources/proc/shm.h"
#include "sources/proc/smaps_rollup.h"

namespace memscope::fuzz {
namespace {

void try_maps(std::string_view bytes) {
    const auto maps = parse_process_maps(bytes);
    std::uint64_t end = 0;
    for (const MappedRange& range : maps.ranges) {
        require(end <= range.start && range.start < range.end, "ranges are sorted and do not overlap");
        end = range.end;
        require(maps.at(range.start) == &range && maps.at(range.end - 1) == &range, "an address is in its range");
        require(range.path.size() <= bytes.size(), "a path is not made up");
    }
}

}  // namespace

void one(std::string_view bytes) {
    const auto mounts = parse_mountinfo(bytes);
    const auto device = safe_shm_device(mounts);
    require(!device || !mounts.empty(), "no device without a mount");
    parsed(choose_hierarchy(mounts, [&](const fs::path& mount) { return mount.native().size() % 2 == 0; }));
    names_memory(bytes, ',');

    try_maps(bytes);

    (void)parse_process_stat(bytes);
    (void)parse_max_open_files(bytes);
    if (const auto pages = parse_smaps_rollup(bytes)) {
        require(pages->own_anon <= pages->anonymous, "what is its own is a part of all");
    }
    if (const auto pages = extrapolate({.own_anon = 3, .shared_anon = 1}, bytes, {65536})) {
        require(pages->own_anon <= pages->anonymous && pages->anonymous <= pages->resident, "parts of all");
    }
    (void)parse_boot_time(bytes);

    const auto argv = parse_argv(bytes);
    std::size_t held = 0;
    for (const std::string& argument : argv) held += argument.size() + 1;
    require(argv.size() <= 64 && held <= bytes.size() + 1, "argv is bounded and invents nothing");
    if (const auto rank = parse_rank(bytes)) require(*rank >= 0 && *rank <= 999999, "a rank is from 0 to 999999");
}

}  // namespace memscope::fuzz
