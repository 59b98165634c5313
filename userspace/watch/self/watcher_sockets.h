#pragma once
#include <vector>

#include "base/files.h"

namespace memscope {

// The sockets at which watchers answer `memscope status` and `memscope growth`: one unix socket per watcher, named by
// its pid, in the directory `run` or one level below.
fs::path own_socket(const SysRoot& root);
// A socket is in none of the lists if its watcher does not listen yet.
struct WatcherSockets {
    std::vector<fs::path> alive{};
    std::vector<fs::path> stale{};      // left by watchers that are dead
    std::vector<fs::path> forbidden{};  // visible, but without permission to connect
};
WatcherSockets find_watcher_sockets(const SysRoot& root);
void remove_stale_sockets(const SysRoot& root);

}  // namespace memscope
