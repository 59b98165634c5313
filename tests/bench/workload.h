#pragma once
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "base/fd.h"
#include "support/real_cgroup.h"

namespace memscope {

// A program of tests/bench/workloads in a cgroup of its own below that of the job. For each line that it receives, it
// does one round of its work and prints "cpu_ms N". Another program may run it; the output of that program is kept for
// the error message if it fails.
class Workload {
  public:
    Workload(const RealCgroup& job, const std::string& name, std::vector<std::string> command) : cgroup_(job, name) {
        int in[2], out[2];
        if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
        pid_ = ::fork();
        if (pid_ < 0) throw std::runtime_error("fork");
        if (pid_ == 0) run(command, in[0], out[1]);
        ::close(in[0]);
        ::close(out[1]);
        to_ = Fd(in[1]);
        from_ = Fd(out[0]);
    }
    Workload(const Workload&) = delete;
    Workload& operator=(const Workload&) = delete;
    ~Workload() {
        cgroup_.remove();  // with all processes in it
        ::waitpid(pid_, nullptr, 0);
    }

    // CPU time of one round.
    double round_ms() const {
        if (::write(to_.get(), "\n", 1) != 1) throw std::runtime_error("the workload is gone");
        std::string said;
        for (std::string line = heard(); !line.empty(); line = heard()) {
            if (line.starts_with("cpu_ms ")) return std::strtod(line.c_str() + 7, nullptr);
            said += line;
        }
        throw std::runtime_error(said.empty() ? "the workload ended" : said);
    }

    std::vector<pid_t> pids() const {
        std::vector<pid_t> pids;
        std::ifstream members(cgroup_.path() / "cgroup.procs");
        for (pid_t pid = 0; members >> pid;) pids.push_back(pid);
        return pids;
    }

  private:
    [[noreturn]] void run(std::vector<std::string>& command, int in, int out) const {
        ::signal(SIGPIPE, SIG_DFL);
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        cgroup_.enter();
        ::dup2(in, 0);
        ::dup2(out, 1);
        ::dup2(out, 2);
        std::vector<char*> argv;
        for (std::string& word : command) argv.push_back(word.data());
        argv.push_back(nullptr);
        ::execvp(argv.front(), argv.data());
        std::printf("cannot run %s\n", argv.front());
        std::fflush(stdout);
        ::_exit(127);
    }

    // With its end of line; empty at the end.
    std::string heard() const {
        std::string line;
        for (char byte = 0; ::read(from_.get(), &byte, 1) == 1;) {
            line += byte;
            if (byte == '\n') break;
        }
        return line;
    }

    RealCgroup cgroup_;
    pid_t pid_ = -1;
    Fd to_;
    Fd from_;
};

}  // namespace memscope
