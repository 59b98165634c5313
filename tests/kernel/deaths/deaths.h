#pragma once
#include <chrono>
#include <csignal>
#include <functional>
#include <sys/wait.h>
#include <thread>

#include "kernel/watched.h"

namespace memscope {

// Deaths of a cgroup, until there are enough or for a limited time. Each tick returns the deaths since the last tick.
inline std::vector<Death> deaths_of(Watched& watched, const RealCgroup& cgroup, std::size_t wanted) {
    std::vector<Death> deaths;
    for (int i = 0; i < 100; ++i) {
        const auto& latest = watched.tick(cgroup).deaths;
        deaths.insert(deaths.end(), latest.begin(), latest.end());
        if (deaths.size() >= wanted) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return deaths;
}

// The only death. One more tick would show a second one.
inline Death only_death(Watched& watched, const RealCgroup& cgroup) {
    auto deaths = deaths_of(watched, cgroup, 1);
    if (deaths.empty()) throw std::runtime_error("nobody has died in " + cgroup.name());
    const auto& more = watched.tick(cgroup).deaths;
    deaths.insert(deaths.end(), more.begin(), more.end());
    for (const Death& death : deaths) EXPECT_EQ(deaths.size(), 1U) << death.explanation;
    return deaths.front();
}

// Grows without end. The process with the most memory is killed first.
inline void grow_for_ever() {
    for (;;) touch(kMiB);
}

inline int wait_for(const Child& child) {
    int status = 0;
    siginfo_t info{};
    (void)::waitid(P_PID, static_cast<id_t>(child.pid()), &info, WEXITED | WNOWAIT);  // the Child reaps it
    status = info.si_status;
    return status;
}

// A child of the child, which runs the function and is not waited for.
inline pid_t fork_off(const std::function<void()>& body) {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    body();
    ::_exit(0);
}

}  // namespace memscope
