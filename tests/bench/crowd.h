#pragma once
#include <algorithm>
#include <csignal>
#include <fstream>
#include <pthread.h>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <unistd.h>
#include <vector>

#include "bench/program.h"
#include "support/child.h"
#include "support/real_cgroup.h"

namespace memscope {

// Raises pid_max for that many more tasks; the destructor restores the old value.
class PidRoom {
  public:
    explicit PidRoom(long tasks) {
        std::ifstream(kFile) >> before_;
        if (const long wanted = tasks + 30'000; wanted > before_) write(wanted);
    }
    PidRoom(const PidRoom&) = delete;
    PidRoom& operator=(const PidRoom&) = delete;
    ~PidRoom() { write(before_); }

  private:
    static constexpr const char* kFile = "/proc/sys/kernel/pid_max";
    static void write(long most) { std::ofstream(kFile) << most; }
    long before_ = 0;
};

// As many processes of that many threads as this machine has room for, at most `wanted`: an idle thread costs about
// 40 KiB of kernel memory.
inline int affordable(int wanted, int threads) {
    long most_threads = 0, available_kib = 0;
    std::ifstream("/proc/sys/kernel/threads-max") >> most_threads;
    std::ifstream meminfo("/proc/meminfo");
    for (std::string line; std::getline(meminfo, line);)
        if (line.starts_with("MemAvailable:")) available_kib = std::stol(line.substr(13));
    const long tasks = std::min(most_threads / 2, available_kib / 2 / 64);
    return static_cast<int>(std::clamp<long>(tasks / threads, 1, wanted));
}

// Idle processes in a cgroup of their own, each with 256 KiB of memory and the given number of threads.
class Crowd {
  public:
    Crowd(int processes, int threads)
        : room_(static_cast<long>(processes) * threads),
          job_("crowd"),
          parent_(job_, [=](const Child::Script& script) { gather(script, processes, threads); }) {
        std::istringstream said(parent_.heard());
        for (pid_t pid = 0; said >> pid;) pids_.push_back(pid);
        if (static_cast<int>(pids_.size()) != processes) throw std::runtime_error("the crowd is not complete");
    }
    Crowd(const Crowd&) = delete;
    Crowd& operator=(const Crowd&) = delete;
    ~Crowd() {
        parent_.kill();  // the other processes die with their parent
        eventually([this] { return std::ifstream(job_.path() / "cgroup.procs").peek() == EOF; });
    }

    const std::string& cgroup() const { return job_.name(); }
    const std::vector<pid_t>& pids() const { return pids_; }

  private:
    static void* idle(void*) {
        for (;;) ::pause();
    }

    static void be_member(int threads, int ready) {
        constexpr std::size_t kStack = 64 * 1024;
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        touch(std::size_t{64} * 4096);
        pthread_attr_t small;
        ::pthread_attr_init(&small);
        ::pthread_attr_setstacksize(&small, kStack);
        for (int i = 1; i < threads; ++i)
            if (pthread_t thread{}; ::pthread_create(&thread, &small, idle, nullptr) != 0) ::_exit(1);
        if (::write(ready, "r", 1) != 1) ::_exit(1);
        idle(nullptr);
    }

    static void gather(const Child::Script& script, int processes, int threads) {
        int ready[2];
        if (::pipe(ready) != 0) return;
        std::string pids;
        for (int i = 0; i < processes; ++i) {
            const pid_t pid = ::fork();
            if (pid == 0) {
                ::close(ready[0]);
                be_member(threads, ready[1]);
            }
            if (pid < 0) return;
            pids += std::to_string(pid) + " ";
        }
        ::close(ready[1]);
        char byte = 0;
        for (int i = 0; i < processes; ++i)
            if (::read(ready[0], &byte, 1) != 1) return;
        script.say(pids);
        script.wait();
    }

    PidRoom room_;
    RealCgroup job_;
    Child parent_;
    std::vector<pid_t> pids_;
};

}  // namespace memscope
