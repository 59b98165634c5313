#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/files.h"
#include "base/result.h"
#include "base/units.h"
#include "kernel/bpf/user_probes.h"
#include "watch/helpers/helper_spawner.h"

namespace memscope {

// The user probes of one library. A separate process (the probe holder) attaches, holds and detaches them, because a
// watched process can block the process that does so: see kernel/bpf/user_probes.h. The watcher never owns a link,
// because the process that closes the last descriptor of a link detaches it.
//
// While the kernel waits for an mmap_lock to attach or detach a probe, it also keeps every fork() on the machine
// waiting (it holds dup_mmap_sem). So a probe holder first reads a byte of the command line of every process. This read
// takes the same locks for reading, blocks no other process, and can be interrupted by SIGKILL. Probes are attached and
// detached only after all these reads have returned, when no process holds its mmap_lock. A process that takes its lock
// for ever right after that read is not detected.
class ProbeHolder {
  public:
    ProbeHolder(ProbeHolder&&) noexcept = default;
    ProbeHolder& operator=(ProbeHolder&&) = delete;
    ~ProbeHolder();  // does not wait: the holder detaches the probes and ends

    enum class State {
        attaching,
        attached,
        refused,  // by the kernel, or because not all mmap_locks could be checked: error()
        lost,     // the holder has ended, so its probes are detached
    };
    State state() const { return state_; }
    const Error& error() const { return error_; }
    // What the holder waits for now, for an error message: "process 12 (python3) holds its mmap_lock".
    std::string obstacle() const;
    std::uint64_t began_ns() const { return began_ns_; }        // boot clock
    std::uint64_t attached_ns() const { return attached_ns_; }  // boot clock; 0: not yet

    void update();  // takes messages of the holder, if there are any

  private:
    friend class ProbeHolders;
    ProbeHolder(Fd socket, Fd progress, std::uint64_t now_ns)
        : socket_(std::move(socket)), progress_(std::move(progress)), began_ns_(now_ns) {}

    Fd socket_;
    Fd progress_;   // a memfd that the holder writes
    Fd process_{};  // a pidfd, once the holder has sent it
    std::uint64_t began_ns_;
    std::uint64_t attached_ns_ = 0;
    State state_ = State::attaching;
    Error error_{};
};

// Starts probe holders. Belongs to one thread.
class ProbeHolders {
  public:
    explicit ProbeHolders(std::shared_ptr<HelperSpawner> spawner);
    ProbeHolders(const ProbeHolders&) = delete;
    ProbeHolders& operator=(const ProbeHolders&) = delete;

    // Does not wait until the probes are attached: see ProbeHolder::update().
    Result<ProbeHolder> attach(const ProbeRequest& request, std::uint64_t now_ns);
    // The holder detaches the probes and ends. That can take long if a process holds its mmap_lock.
    void release(ProbeHolder holder);

    int fd() const { return epoll_.get(); }  // readable when a holder has answered or ended

    // attach() fails if this many released holders have not ended yet.
    static constexpr std::size_t kMostLeaving = 16;

  private:
    std::shared_ptr<HelperSpawner> spawner_;
    Fd epoll_;
    std::vector<Fd> leaving_{};  // pidfds
};

// Runs in a probe holder until the socket is closed. Does not attach the probes if it cannot check the mmap_locks of
// all processes in `root.proc`.
void serve_probes(Fd socket, const SysRoot& root = {});

}  // namespace memscope
