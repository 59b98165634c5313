#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/heap/heap.h"
#include "outputs/json/json_writer.h"

namespace memscope {

// Heap censuses, and the options for showing them.
struct HeapReport {
    double time = 0;                      // seconds since 1970
    std::optional<std::string> target{};  // none: a process without a watcher
    std::vector<ProcessHeap> processes{};
    std::size_t top = 5;                // entries of each list
    std::optional<std::string> type{};  // only holders of this type
    std::size_t left_out = 0;           // large processes of the target of which no census was taken
};

// Seconds between the censuses; none without an earlier one.
std::optional<double> since_seconds(const HeapReport& report);

std::string heap_json(const HeapReport& report);
// A list of censuses for other objects. It has the summary of the Python objects instead of the lists, because a tick
// must not have megabytes.
void write_heap(JsonWriter& json, std::string_view key, const std::vector<ProcessHeap>& processes, std::size_t top);

}  // namespace memscope
