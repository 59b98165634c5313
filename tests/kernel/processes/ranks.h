#pragma once
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "kernel/watched.h"

namespace memscope {

// Sleeping processes in a cgroup, one for each rank from `first` to `last`. The destructor ends them.
class RankedProcesses {
  public:
    RankedProcesses(const RealCgroup& cgroup, int first, int last) : ranks_(last - first + 1) {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
        const Fd executed(ends[0]);
        Fd open_until_exec(ends[1]);
        for (int rank = first; rank <= last; ++rank) {
            const pid_t pid = ::fork();
            if (pid == 0) {
                ::prctl(PR_SET_PDEATHSIG, SIGKILL);
                cgroup.enter();
                ::setenv("RANK", std::to_string(rank).c_str(), 1);
                ::execl("/bin/sleep", "sleep", "1000", nullptr);
                ::_exit(1);
            }
            pids_.push_back(pid);
        }
        open_until_exec = Fd();
        char byte = 0;
        while (::read(executed.get(), &byte, 1) > 0) {
        }
    }
    RankedProcesses(const RankedProcesses&) = delete;
    RankedProcesses& operator=(const RankedProcesses&) = delete;
    ~RankedProcesses() {
        for (const pid_t pid : pids_) ::kill(pid, SIGKILL);
        for (const pid_t pid : pids_) ::waitpid(pid, nullptr, 0);
    }

    // All processes are known, and all ranks have been read.
    std::function<bool(const TargetSnapshot&)> have_ranks() const {
        return [this](const TargetSnapshot& target) {
            return std::ranges::count_if(target.processes, [this](const Process& process) {
                       return process.own_rank() && std::ranges::count(pids_, process.task.id.pid) > 0;
                   }) == ranks_;
        };
    }

  private:
    int ranks_;
    std::vector<pid_t> pids_{};
};

// Gives the calling process a rank without an exec: /proc/PID/environ shows the memory in which the environment was at
// the start of the program.
inline void pretend_rank(int rank) {
    const std::string text = "RANK=" + std::to_string(rank);
    if (!environ[0] || std::strlen(environ[0]) < text.size()) ::_exit(1);
    std::memset(environ[0], 0, std::strlen(environ[0]));
    std::memcpy(environ[0], text.data(), text.size());
}

}  // namespace memscope
