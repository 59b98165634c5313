#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/heap.h"
#include "outputs/json/json_writer.h"

namespace memscope {

// Heap censuses with what is needed to show them.
struct HeapReport {
    double time = 0;                      // seconds since 1970
    std::optional<std::string> target{};  // none: a process without a watcher
    std::vector<ProcessHeap> processes{};
    std::size_t top = 5;       // entries of each list
    std::size_t left_out = 0;  // large processes of the target of which no census was taken
};

// Seconds between the censuses; none without an earlier one.
std::optional<double> since_seconds(const HeapReport& report);

std::string heap_json(const HeapReport& report);
// The list `processes` of that object, for other objects that have it.
void write_heap(JsonWriter& json, std::string_view key, const std::vector<ProcessHeap>& processes, std::size_t top);

}  // namespace memscope
