#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/units.h"
#include "model/processes/process.h"

namespace memscope {

// How the pages of one process are shared. Own pages are mapped only by this process, all other pages by more than one
// process.
struct PageSharing {
    // Each page divided by the number of processes that map it.
    struct Pss {
        Bytes all{};
        Bytes anon{};
    };

    Bytes resident{};
    Bytes anonymous{};
    Bytes own_anon{};          // lower bound
    Bytes own_mapped{};        // of files and shared memory; upper bound
    std::optional<Pss> pss{};  // none: only some pages were read, without the number of their mappers

    Bytes shared_anon() const { return anonymous - own_anon; }
    Bytes shared_mapped() const { return resident - anonymous - own_mapped; }
};

// The latest reading of a process.
struct SharingReading {
    std::uint64_t began_ns = 0;          // boot clock: when the reading began
    std::uint64_t read_ns = 0;           // and when it ended
    std::optional<PageSharing> pages{};  // none: memscope may not read the process
};
using SharingReadings = std::map<ProcessId, SharingReading>;

// Copies that the forked processes of a role have made of pages they shared with their parent.
struct Unshared {
    Bytes bytes{};
    bool confirmed = true;        // by the private pages of each process, not only by the sums
    std::uint64_t processes = 0;  // living forked processes
};

// The role of the forked processes that have made most copies.
struct Copiers {
    Role role = Role::other;
    Role parent = Role::other;  // role of the process that shares its pages
    std::uint64_t processes = 0;
    bool confirmed = true;
};

// PSS of a role. Each page counts once, so roles can be stacked in a graph.
struct RolePss {
    Bytes bytes{};
    Seconds age{};                // age of the oldest reading in the sum
    std::uint64_t processes = 0;  // number of processes that were read
};

// Shared memory between the processes of a target, and copy-on-write un-sharing.
struct Sharing {
    Bytes summed_anon{};                 // sum over its processes: a shared page counts in each of them
    std::optional<Bytes> cgroup_anon{};  // counts each page once; none if the cgroup also has other processes
    std::map<RoleKey, Unshared> unshared{};
    std::map<RoleKey, RolePss> pss{};
    std::optional<Copiers> copiers{};  // none: no process has copied 1 MiB
    std::string explanation{};         // one sentence; empty if un-sharing does not matter
};

}  // namespace memscope
