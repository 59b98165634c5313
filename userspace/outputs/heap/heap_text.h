#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "model/snapshot.h"
#include "outputs/heap/heap_json.h"

namespace memscope {

// For each process: the answer in a sentence, its Python objects and its parts as tables, its allocator, what could not
// be read.
std::string heap_text(const HeapReport& report, std::size_t columns);

// A part of a heap, with its name for users.
struct HeapPartText {
    std::string name{};  // "malloc free"
    HeapPart part{};
    Bytes size{};
};
// The parts of a census that have memory, in the order of HeapPart.
std::vector<HeapPartText> heap_parts(const HeapCensus& census);

// "trainer of rank 0, pid 4711, 2 min ago": the process of a census and its age. `now`: seconds since 1970.
std::string heap_title(const ProcessHeap& heap, double now);

// "malloc live 522 MiB, malloc free 41 GiB, ... (trainer, pid 4711, 2 min ago)": the largest process that has a census.
// Empty if there is none.
std::string heap_line(const TargetSnapshot& target, double now);

}  // namespace memscope
