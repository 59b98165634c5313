#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <sys/types.h>

#include "base/fd.h"
#include "base/result.h"

namespace memscope {

// Starts helper processes for a watcher that has threads by then: forking a process with several threads is not safe.
// So one process, the spawner, is forked while there is one thread, and it forks the helpers later. The spawner itself
// touches nothing of a watched process, so nothing can block it.
class HelperSpawner {
  public:
    enum class Helper : char { reader = 'r', heap_reader = 'h', probe_holder = 'p' };
    struct Work {
        std::function<void()> prepare{};               // once, in the spawner: give up privileges
        std::function<void(Fd socket)> serve{};        // in each reader, until the socket is closed
        std::function<void(Fd socket)> read_heaps{};   // in each heap reader, until the socket is closed
        std::function<void(Fd socket)> hold_probes{};  // in each probe holder, until the socket is closed
    };
    // To be called while the process has one thread. The spawner keeps no descriptor of the caller's.
    static Result<std::shared_ptr<HelperSpawner>> start(Work work);
    HelperSpawner(const HelperSpawner&) = delete;
    HelperSpawner& operator=(const HelperSpawner&) = delete;
    // Ends the spawner, and the kernel kills its readers. Probe holders end by themselves when their sockets are
    // closed, because they detach their probes first.
    ~HelperSpawner();

    pid_t pid() const { return pid_; }  // the parent of all helpers
    // A socket (SOCK_SEQPACKET) to a new helper. Does not wait for it. From any thread.
    Result<Fd> spawn(Helper helper = Helper::reader);

  private:
    HelperSpawner(Fd control, pid_t pid) : control_(std::move(control)), pid_(pid) {}

    std::mutex mutex_{};
    Fd control_;
    pid_t pid_;
};

}  // namespace memscope
