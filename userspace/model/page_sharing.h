#pragma once
#include <cstdint>
#include <map>
#include <optional>

#include "base/units.h"
#include "model/process.h"

namespace memscope {

// How the pages of one process are shared: what /proc/PID/smaps_rollup tells, as far as we use it. Shared means mapped
// by more than one process; private pages are in this one alone.
struct PageSharing {
    Bytes resident{};
    Bytes pss{};                       // each page divided by the number of those who map it
    std::optional<Bytes> pss_anon{};   // since Linux 5.3
    std::optional<Bytes> pss_shmem{};  // since Linux 5.3
    Bytes anonymous{};
    Bytes private_dirty{};
    Bytes private_clean{};
    Bytes shared_dirty{};
    Bytes shared_clean{};

    // Anonymous memory that nobody else maps: at least that much. Private_Dirty has shared memory in it that only one
    // process has mapped so far; its part of Pss is no smaller. None where the kernel does not tell them apart.
    std::optional<Bytes> private_anon() const;
};

// The latest that is known of a process.
struct SharingReading {
    std::uint64_t read_ns = 0;           // boot clock
    std::optional<PageSharing> pages{};  // none: we may not read it
};
using SharingReadings = std::map<ProcessId, SharingReading>;

}  // namespace memscope
