#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <sys/types.h>

#include "base/fd.h"
#include "base/result.h"

namespace memscope {

// Starts helper processes for a watcher. Forking a process with several threads is not safe, so one process, the
// spawner, is forked while the watcher has one thread, and the spawner forks the helpers later. The spawner reads
// nothing of a watched process, so no watched process can block it.
class HelperSpawner {
  public:
    enum class Helper : char { reader = 'r', heap_reader = 'h', probe_holder = 'p' };
    struct Work {
        std::function<void()> prepare{};               // runs once, in the spawner: gives up privileges
        std::function<void(Fd socket)> serve{};        // in each reader, until the socket is closed
        std::function<void(Fd socket)> read_heaps{};   // in each heap reader, until the socket is closed
        std::function<void(Fd socket)> hold_probes{};  // in each probe holder, until the socket is closed
    };
    // Must be called while the process has one thread. The spawner keeps no descriptor of the caller.
    static Result<std::shared_ptr<HelperSpawner>> start(Work work);
    HelperSpawner(const HelperSpawner&) = delete;
    HelperSpawner& operator=(const HelperSpawner&) = delete;
    // Ends the spawner, and the kernel kills its readers. Probe holders end by themselves when their sockets are
    // closed, because they detach their probes first.
    ~HelperSpawner();

    pid_t pid() const { return pid_; }  // the parent of all helpers
    // False once the spawner has ended, which it does only if it is killed. It cannot be started again, because the
    // watcher has threads, BPF maps and fewer privileges by now. The kernel kills the readers with it.
    bool is_alive() const;
    // A socket (SOCK_SEQPACKET) to a new helper. Does not wait for it. From any thread.
    Result<Fd> spawn(Helper helper = Helper::reader);

  private:
    HelperSpawner(Fd control, pid_t pid) : control_(std::move(control)), pid_(pid) {}

    std::mutex mutex_{};
    Fd control_;
    pid_t pid_;
};

}  // namespace memscope
