#include "sources/oom_kills.h"

#include "base/files.h"
#include "sources/cgroup_stat.h"

namespace memscope {
namespace {

Status count_one(const Fd& directory, OomKills::Counts& seen) {
    const auto text = read_file_at(directory, "memory.oom_control");
    if (!text) return text.error();
    const auto kills = parse_oom_control(*text);
    if (!kills) return kills.error();
    const auto id = cgroup_id(directory);
    if (!id) return id.error();
    if (*kills) seen[*id] = **kills;
    return Done{};
}

}  // namespace

void OomKills::take(const Counts& seen, bool complete) {
    for (const auto& [id, kills] : seen) {
        const auto before = last_.find(id);
        const std::uint64_t known = before == last_.end() ? 0 : before->second;
        if (kills > known) total_ += kills - known;
    }
    // A cgroup that is forgotten while it lives would be counted a second time when it is seen again.
    if (complete) last_.clear();
    for (const auto& [id, kills] : seen) last_[id] = kills;
}

Result<std::uint64_t> OomKills::sum_up(const CgroupDirectory& top) {
    Counts seen;
    const auto own = count_one(top.fd(), seen);
    if (!own) return own.error();
    bool complete = true;
    complete = walk_directories(top.fd(), top.path(), {},
                                [&](const WalkedDirectory& directory) {
                                    const auto done = count_one(directory.fd, seen);
                                    if (!done && !is_gone(done.error())) complete = false;
                                    return true;
                                }) &&
               complete;
    take(seen, complete);
    return total_;
}

}  // namespace memscope
