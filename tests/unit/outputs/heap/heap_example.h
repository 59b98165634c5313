#pragma once
#include "outputs/heap/heap_json.h"

namespace memscope::test {

inline constexpr std::uint64_t kHeapMiB = std::uint64_t{1} << 20U;
inline constexpr double kCensusTime = 1760000000.5;  // of the reports about objects

// A trainer with live and free memory of glibc.
HeapReport heap_report();

// A list of tuples and a list of tensors, each with that many elements.
ObjectCensus leaked_objects(std::uint64_t length);

// A trainer with two censuses. Both lists have grown from 1,000 to 6,000 elements between them.
ProcessHeap leaking_process();

HeapReport report_of(ProcessHeap process, std::size_t top = 5);

}  // namespace memscope::test
