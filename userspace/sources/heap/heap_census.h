#pragma once
#include <sys/types.h>

#include "base/files.h"
#include "base/result.h"
#include "base/units.h"
#include "model/heap/heap.h"

namespace memscope {

// Bounds of one census.
struct HeapBudget {
    Seconds time{5};                         // CPU time; what is not read by then is left out and counted
    Bytes memory{std::uint64_t{176} << 20};  // for copies of the process's memory
    bool objects = false;                    // reads the Python objects, too
    Seconds objects_time{10};                // for the objects, after the parts
};

// Reads the heap of a process from outside: nothing is stopped or written, and only resident pages are read. A process
// can block its reader, so this runs in a helper process. ESRCH if there is no such process.
Result<HeapCensus> take_heap_census(const SysRoot& root, pid_t pid, const HeapBudget& budget);

}  // namespace memscope
