#pragma once
#include <map>
#include <optional>
#include <vector>

#include "base/units.h"
#include "model/snapshot.h"

namespace memscope {

// The maximum age of a census that may explain the present memory.
constexpr Seconds kFreshCensus = std::chrono::minutes(30);

// True if the parts of the census add up to the memory of the process, so that a part can be compared with it.
bool is_complete_enough(const HeapCensus& census);

// True for memory that an allocator keeps free.
inline bool is_free_memory(GrowthCause::Kind kind) {
    return kind == GrowthCause::Kind::malloc_free || kind == GrowthCause::Kind::python_free;
}

// Follows the memory that allocators keep free in the processes of a target, from one census to the next, to show
// whether growth is such memory. Keeps a bounded number of sizes of each process.
class FreeGrowth {
  public:
    // Call this once per tick. `to_boot` is added to seconds since 1970 to get the clock of Rise. Processes that have
    // no census any more are forgotten.
    void update(Seconds to_boot, const std::vector<ProcessHeap>& heap);

    // The rise of a target, or of the processes of a role.
    struct Rise {
        Seconds since{};
        Seconds now{};
        Bytes from{};  // the judged memory then
        Bytes by{};
        std::optional<RoleKey> role{};
    };
    // Free memory of malloc or of pymalloc, if it certainly makes up more than half of the rise, and if live memory has
    // not grown much, neither in the rise nor since the first census: a leak whose last seconds grew in freed memory is
    // still a leak. Memory that was free at the beginning is not counted: it is known from a census at that time, and
    // without one it cannot have been more than all memory then.
    std::optional<GrowthCause> cause_of(const Rise& rise) const;

  private:
    struct Reading {
        Seconds at{};
        Bytes malloc_free{};
        Bytes python_free{};
        Bytes live{};  // everything else
    };
    struct Past {
        RoleKey role{};
        bool complete = true;  // the latest census is complete enough
        std::vector<Reading> readings{};
    };
    Bytes risen(const Rise& rise, Bytes Reading::* part) const;
    bool live_grows(const Rise& rise) const;
    std::vector<const Past*> past_of(const Rise& rise) const;
    static const Reading& first_of(const Past& past, Seconds since);

    std::map<ProcessId, Past> processes_{};
};

}  // namespace memscope
