#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/units.h"
#include "model/processes/process.h"

namespace memscope {

// How the pages of one process are shared. Own pages are mapped by this one alone, all others by more than one process.
struct PageSharing {
    // Each page divided by the number of those who map it.
    struct Pss {
        Bytes all{};
        Bytes anon{};
    };

    Bytes resident{};
    Bytes anonymous{};
    Bytes own_anon{};          // at least
    Bytes own_mapped{};        // of files and shared memory, at most
    std::optional<Pss> pss{};  // none: only some of its pages were looked at, which do not say who else maps them

    Bytes shared_anon() const { return anonymous - own_anon; }
    Bytes shared_mapped() const { return resident - anonymous - own_mapped; }
};

// The latest that is known of a process.
struct SharingReading {
    std::uint64_t began_ns = 0;          // boot clock: when the reading began
    std::uint64_t read_ns = 0;           // and when it ended
    std::optional<PageSharing> pages{};  // none: we may not read it
};
using SharingReadings = std::map<ProcessId, SharingReading>;

// Copies that the forked processes of a role have made of pages they shared with their parent.
struct Unshared {
    Bytes bytes{};
    bool confirmed = true;        // by the private pages of every one of them, not by the sums alone
    std::uint64_t processes = 0;  // forked ones that live
};

// The kind of forked processes that has made most copies.
struct Copiers {
    Role role = Role::other;
    Role parent = Role::other;  // whose pages they are
    std::uint64_t processes = 0;
    bool confirmed = true;
};

// Each page once: for stacking.
struct RolePss {
    Bytes bytes{};
    Seconds age{};                // of the oldest number in it
    std::uint64_t processes = 0;  // that were read
};

// Who shares memory with whom in a target, and who no longer does.
struct Sharing {
    Bytes summed_anon{};                 // of its processes: a shared page stands in each of them
    std::optional<Bytes> cgroup_anon{};  // each page once; none where the cgroup is not the target's alone
    std::map<RoleKey, Unshared> unshared{};
    std::map<RoleKey, RolePss> pss{};
    std::optional<Copiers> copiers{};  // none: nobody has copied 1 MiB
    std::string explanation{};         // one sentence, once un-sharing matters; empty before
};

}  // namespace memscope
