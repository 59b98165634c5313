#pragma once
#include <csignal>

#include "analysis/deaths/decide_death.h"

namespace memscope::test {

inline constexpr std::uint64_t kSecond = 1'000'000'000;
inline constexpr std::uint64_t kEnd = 1000 * kSecond;

// A trainer with pid 100 that ends at kEnd.
inline DeathEvidence ended_with(int exit_code) {
    return {
        .time_ns = kEnd, .id = {100, 5}, .target = CgroupId{7}, .parent = 1, .comm = "python", .exit_code = exit_code};
}

inline DeathEvidence ended_by(int signal) { return ended_with(signal); }
inline DeathEvidence exited_with(int status) { return ended_with(status << 8); }

inline SentSignal sent(int number, pid_t sender, const char* comm, bool by_kernel = false) {
    return {.time_ns = kEnd - kSecond / 1000,
            .number = number,
            .sender = {sender, comm},
            .sender_target = kNoCgroup,
            .by_kernel = by_kernel};
}

// The trainer was killed by the OOM killer, because `trigger` asked for memory in a cgroup that was at its limit of 512
// MiB.
inline DeathEvidence oom_killed(pid_t trigger = 200) {
    DeathEvidence evidence = ended_by(SIGKILL);
    evidence.kill = sent(SIGKILL, trigger, "loader", true);
    evidence.oom = OomMark{.time_ns = kEnd - kSecond / 1000,
                           .thread = 100,
                           .trigger = {trigger, "loader"},
                           .cgroup = {CgroupId{8}, "inner"},
                           .owner = {CgroupId{7}, "train"},
                           .limit = Bytes{512 << 20},
                           .usage = Bytes{511 << 20},
                           .anon = Bytes{400 << 20}};
    return evidence;
}

inline LastFailure failed(std::size_t call, std::size_t reason, std::uint64_t before_end_ns) {
    return {.time_ns = kEnd - before_end_ns, .call = call, .reason = reason, .size = Bytes{1 << 30}};
}

}  // namespace memscope::test
