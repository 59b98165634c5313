#pragma once
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "model/snapshot.h"

namespace memscope {

// What un-sharing needs to know of the processes of a target that have memory of their own.
struct Sharer {
    ProcessId id{};
    Bytes anon{};
    Bytes mapped{};  // file and shmem
    Bytes swap{};
    pid_t parent = 0;
    bool forked = false;  // without exec since: it shares with its parent
    std::uint64_t minor_faults = 0;
};
using Sharers = std::vector<Sharer>;  // by id

Sharers sharers_of(std::span<const Process> processes);  // which are sorted by pid
const Sharer* find_sharer(const Sharers& all, const ProcessId& id);
const Sharer* find_sharer(const Sharers& all, pid_t pid);
Bytes summed_anon(const Sharers& all);

// What came and went between two ticks, and what that does to the memory that is counted more than once: a fork adds
// to it what the parent has, an exit takes away what the process shared, which nobody knows.
struct SharingChange {
    std::map<ProcessId, Bytes> born{};  // forked since, by a parent we know: at most that much was inherited
    Bytes added{};                      // by those
    Bytes taken{};                      // by exits, at most
    bool blind = false;                 // more happened than can be explained: the sums tell nothing this time
};
// `before_ns`: when the look before began, on the boot clock.
SharingChange compare(const Sharers& before, std::uint64_t before_ns, const Sharers& now);

}  // namespace memscope
