#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "model/heap.h"
#include "model/processes/process.h"

namespace memscope {

struct HeapOfProcess {
    RoleKey role{};
    HeapCensus census{};
    std::optional<HeapCensus> earlier{};  // of the same process; changes are relative to it
};

// Heap censuses with what is needed to show them.
struct HeapReport {
    double time = 0;                      // seconds since 1970
    std::optional<std::string> target{};  // none: a process without a watcher
    std::vector<HeapOfProcess> processes{};
    std::size_t top = 5;  // entries of each list
};

// Seconds between the censuses; none without an earlier one.
std::optional<double> since_seconds(const HeapReport& report);

std::string heap_json(const HeapReport& report);

}  // namespace memscope
