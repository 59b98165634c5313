#pragma once
#include "model/snapshot.h"

namespace memscope::test {

constexpr Bytes mib(std::uint64_t n) { return {n << 20U}; }
constexpr Bytes gib(std::uint64_t n) { return {n << 30U}; }

Process process(pid_t pid, pid_t parent, Role role, const char* comm, const char* command, Bytes anon);

// A census of glibc with live and free memory, nine tenths of which can be trimmed.
ProcessHeap heap(pid_t pid, const RoleKey& role, double time, Bytes live, Bytes free);

// A training job below a limit: a launcher, a trainer, three DataLoader workers.
TargetSnapshot training(const char* name = "train");
// Snapshots with that one target: without GPUs, and with two GPUs, one of them lost.
Snapshot example(bool with_gpus = false);

// The lines of the second of two ticks; `before` is null if there is only one.
std::vector<std::string> notices(const Snapshot* before, const Snapshot& now);

}  // namespace memscope::test
