#pragma once
#include <cstdint>
#include <map>
#include <optional>

#include "base/units.h"
#include "model/process.h"

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

}  // namespace memscope
