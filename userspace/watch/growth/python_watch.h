#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "base/fd.h"
#include "base/files.h"
#include "kernel/features/growth_stacks.h"
#include "watch/helpers/read_jobs.h"

namespace memscope {

// Finds the processes that run Python and passes the layout of the interpreter to the BPF programs. An interpreter is
// mapped and initializes itself some time after the exec, so a process is checked repeatedly for a few seconds.
class PythonWatch {
  public:
    struct Calls {
        std::function<std::optional<Result<PythonSearch>>(const PythonJob&)> ask{};
        std::function<std::optional<SpaceId>(pid_t)> space_of{};  // the address space of a process now
        std::function<void(pid_t, const ms_python&)> set_python{};
    };
    PythonWatch(Calls calls, bool on);
    PythonWatch(std::shared_ptr<ReadHelpers> reads, GrowthStacks& stacks, bool on);

    void check(const ProcessId& process);  // checks now, and again if the interpreter may still be starting
    void check_waiting();                  // checks the waiting processes again
    void forget(pid_t process) { waiting_.erase(process); }
    int retry_fd() const { return timer_.get(); }  // readable when the next check is due

  private:
    struct Waiting {
        ProcessId process{};
        std::optional<SpaceId> space{};  // when the first check began
        std::uint64_t until_ns = 0;      // boot clock
        std::uint64_t due_ns = 0;        // boot clock: no check before
        std::uint64_t number = 0;        // of the check that is under way; 0: none
        bool answered = false;           // the first check is done, and until_ns is set
        bool at_tick = false;            // the next check is made by a tick, not by the timer
        std::size_t without = 0;         // checks that found no CPython
    };

    Waiting begun(const ProcessId& process) const {
        return {.process = process, .space = calls_.space_of(process.pid)};
    }
    bool is_over(Waiting& waiting, std::uint64_t now_ns);
    void arm(bool on);

    Calls calls_;
    bool on_;
    std::uint64_t numbers_ = 0;
    std::map<pid_t, Waiting> waiting_;
    pid_t next_ = 0;  // the process to continue with, if there were too many for one turn
    Fd timer_;
    bool armed_ = false;
};

}  // namespace memscope
