#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "model/heap/heap.h"
#include "model/heap/heap_objects.h"
#include "sources/heap/glibc_walk.h"
#include "sources/heap/heap_range.h"
#include "sources/heap/present_memory.h"
#include "sources/heap/pymalloc.h"
#include "sources/heap/python/heap_copy.h"
#include "sources/heap/thread_stacks.h"
#include "sources/proc/process_maps.h"

namespace memscope {

// A process with CPython, as the census of the parts has found it.
struct PythonHeap {
    MemorySource& source;
    const PresentPages& pages;
    const ProcessMaps& maps;
    Address runtime = 0;           // of _PyRuntime
    std::optional<int> version{};  // 311; from the file of the interpreter
    bool debug_build = false;
    const Pymalloc* pymalloc = nullptr;        // null: its arenas were not found
    std::vector<HeapBlock>* blocks = nullptr;  // live ones of malloc, which the census takes; null: not known
    std::span<const GlibcThread> threads{};
    std::span<const HeapRange> mapped_blocks{};  // of malloc; sorted
    std::span<const HeapRange> mappings{};       // large ones that no allocator owns; sorted
    Bytes python_live{};                         // of the parts
    Bytes live{};                                // malloc_live, python_live and mapped
    // Pages of a forked process that it still shares with its parent: objects there are not its own. Null: not forked.
    const PresentPages* inherited = nullptr;
    HeapCopy::ReadFile read_file{};
};

// Reads the Python objects of a process: types, tensors, arrays, and the containers that hold them. `most_bytes` bounds
// the memory that this takes. Parts that were not read are counted in `incomplete`. `places`: where the lengths of its
// containers are.
ObjectCensus take_object_census(const PythonHeap& heap, std::uint64_t most_bytes, const ReadDeadline& deadline,
                                std::map<HeapGap, std::uint64_t>& incomplete, std::vector<ContainerPlace>& places);

}  // namespace memscope
