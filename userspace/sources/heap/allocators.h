#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/heap.h"
#include "sources/heap/glibc_arenas.h"
#include "sources/proc/process_maps.h"

namespace memscope {

// Paths of mapped files, each once.
std::vector<std::string> c_library_paths(const ProcessMaps& maps);       // libc: the first one has the malloc
std::vector<std::string> thread_library_paths(const ProcessMaps& maps);  // those that keep lists of threads

// The allocator library that a file name stands for: "libjemalloc.so.2". `unknown` for any other file.
AllocatorName allocator_of_library(std::string_view path);

// Names the allocator that serves malloc(). A library that only is mapped does not: a program can load it for its own
// use. It does if it was preloaded, or if glibc's malloc was never used. `environ` is the environment of the process at
// its start.
AllocatorName find_allocator(const ProcessMaps& maps, std::string_view environ, const GlibcMalloc* glibc);

}  // namespace memscope
