// Files of /proc. What a watched process writes into its own (argv, environ, the name in stat, mount points) is
// hostile.
#include "fuzz.h"
#include "sources/cgroup_hierarchy.h"
#include "sources/procfs.h"
#include "sources/shm.h"

namespace memscope::fuzz {

void one(std::string_view bytes) {
    const auto mounts = parse_mountinfo(bytes);
    const auto device = safe_shm_device(mounts);
    require(!device || !mounts.empty(), "no device without a mount");
    parsed(choose_hierarchy(mounts, [&](const fs::path& mount) { return mount.native().size() % 2 == 0; }));
    names_memory(bytes, ',');

    (void)parse_process_stat(bytes);
    (void)parse_max_open_files(bytes);
    (void)parse_boot_time(bytes);

    const auto argv = parse_argv(bytes);
    std::size_t held = 0;
    for (const std::string& argument : argv) held += argument.size() + 1;
    require(argv.size() <= 64 && held <= bytes.size() + 1, "argv is bounded and invents nothing");
    if (const auto rank = parse_rank(bytes)) require(*rank >= 0 && *rank <= 999999, "a rank is from 0 to 999999");
}

}  // namespace memscope::fuzz
