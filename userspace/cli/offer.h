#pragma once
#include <optional>
#include <string>
#include <vector>

#include "analysis/roles/watch_candidates.h"
#include "base/files.h"

namespace memscope {

// The jobs of this machine that could be watched, for a user who has not said what to watch.
struct Offer {
    struct Job {
        WatchCandidate candidate{};
        std::optional<Limit> limit{};  // of its cgroup; none: it has no cgroup of its own, or the limit is unreadable
    };
    std::vector<Job> jobs{};       // largest first
    std::size_t unreadable = 0;    // processes that could not be read
    std::size_t without_argv = 0;  // processes with memory whose command line could not be read
    bool complete = true;          // all processes were examined
};

Offer make_offer(const SysRoot& root);
// `as_root`: the commands need no sudo.
std::string offer_text(const Offer& offer, bool as_root);

}  // namespace memscope
