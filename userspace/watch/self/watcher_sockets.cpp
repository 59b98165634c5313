#include "watch/self/watcher_sockets.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/text.h"

namespace memscope {
namespace {

// Connects to the socket. Returns 0 if a watcher listens there, else the errno.
int connect_error(const fs::path& socket) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (socket.native().size() >= sizeof address.sun_path) return ENAMETOOLONG;
    std::memcpy(address.sun_path, socket.c_str(), socket.native().size());
    const Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) return errno;
    const int failed = ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    return failed == 0 || errno == EAGAIN ? 0 : errno;  // EAGAIN: it listens, but its queue of connections is full
}

// A watcher binds its socket before it listens on it. Until it listens, connections are refused. So a refused
// connection means a dead watcher only if the pid of the watcher does not exist. A socket whose name is not a pid is
// not a socket of memscope.
bool owner_is_dead(const SysRoot& root, const fs::path& socket) {
    const std::string pid = socket.stem();
    std::error_code unknown;
    return parse_number(pid) && !fs::exists(root.proc / pid, unknown) && !unknown;
}

}  // namespace

fs::path own_socket(const SysRoot& root) {
    const std::string name = std::to_string(::getpid()) + ".sock";
    // A service that does not run as root has its own directory there (RuntimeDirectory=). All processes that a service
    // starts inherit the variable, so it may name the directory of another service.
    const char* own = std::getenv("RUNTIME_DIRECTORY");
    return own && fs::path(own).parent_path() == root.run ? fs::path(own) / name : root.run / name;
}

WatcherSockets find_watcher_sockets(const SysRoot& root) {
    WatcherSockets sockets;
    std::error_code ignored;  // without a directory no watcher has run yet
    for (fs::recursive_directory_iterator at(root.run, ignored); at != fs::recursive_directory_iterator();
         at.increment(ignored)) {
        const fs::directory_entry& entry = *at;
        if (at.depth() > 0) at.disable_recursion_pending();
        if (entry.path().extension() != ".sock") continue;
        const int refused = connect_error(entry.path());
        if (refused == 0)
            sockets.alive.push_back(entry.path());
        else if (refused == ECONNREFUSED && owner_is_dead(root, entry.path()))
            sockets.stale.push_back(entry.path());
        else if (refused == EACCES || refused == EPERM)
            sockets.forbidden.push_back(entry.path());
    }
    std::sort(sockets.alive.begin(), sockets.alive.end());
    return sockets;
}

void remove_stale_sockets(const SysRoot& root) {
    std::error_code ignored;
    for (const fs::path& socket : find_watcher_sockets(root).stale) fs::remove(socket, ignored);
}

}  // namespace memscope
