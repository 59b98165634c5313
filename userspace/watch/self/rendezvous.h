#pragma once
#include <vector>

#include "base/files.h"

namespace memscope {

// Where watchers and those who ask them meet: one unix socket per watcher, named by its pid, in the directory or one
// level below.
fs::path own_socket(const SysRoot& root);
// One that does not listen yet is in none of the lists.
struct Sockets {
    std::vector<fs::path> alive{};
    std::vector<fs::path> stale{};      // left by watchers that are dead
    std::vector<fs::path> forbidden{};  // ours to see, not to use
};
Sockets find_sockets(const SysRoot& root);
void remove_stale_sockets(const SysRoot& root);

}  // namespace memscope
