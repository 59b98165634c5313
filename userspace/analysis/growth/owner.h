#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/growth/attribution.h"
#include "model/growth/growth.h"
#include "model/snapshot.h"

namespace memscope {

// Decides which plane to believe. The planes `tensors_host` and `mapped` know owners: the line that allocated or mapped
// memory which is not given back since. The plane `resident` knows the line that touched a page first. If an allocator
// hands out the page again, that line is not the owner.
struct Ownership {
    enum class Reason {
        known,         // `owner` has the line
        little,        // less than `little` grew: a healthy job holds some batches and buffers at any time
        recycled,      // most of it is in memory that an allocator hands out again
        no_line,       // no line has a large part of it, or its stacks are not known
        first_touch,   // the resident plane does not match frees to touches
        not_measured,  // resident growth is not measured (--no-maps)
    };
    Reason reason = Reason::little;
    std::optional<GrowthOwner> owner{};
    std::optional<PythonFrame> frame{};  // of the owner, if it is a line of Python
    std::int64_t grown = 0;              // bytes that grew, without those of imports
    std::string holders{};          // a sentence: which containers of Python have grown; empty: not known. Printable
    std::int64_t little = 1 << 20;  // bytes: 2 % of what the target holds, at least 1 MiB
};

// `growth` may be of any time; heap censuses of `target` are used if they are not older than kFreshCensus at `now`
// (seconds since 1970).
Ownership owner_of(const Growth& growth, const TargetSnapshot& target, double now);

// True if this innermost function maps memory for one owner. False for brk and mprotect, with which malloc enlarges
// heaps that have many blocks: the line that needed a larger heap is not the owner of the blocks. False as well if the
// function is not known.
bool maps_for_owner(std::string_view innermost_function);

// For the user: what such a function enlarges instead, "malloc's main heap, ...". Empty if it maps for one owner or is
// not known.
std::string_view enlarged_by(std::string_view innermost_function);

// "validate (train.py:60)", or the innermost native function of a stack without Python. Raw bytes.
std::string place_of_line(const GrowthSite& site);

}  // namespace memscope
