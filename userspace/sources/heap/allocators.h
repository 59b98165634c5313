#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/heap/heap.h"
#include "sources/heap/glibc_arenas.h"
#include "sources/proc/process_maps.h"

namespace memscope {

// Paths of mapped files, each once.
std::vector<std::string> c_library_paths(const ProcessMaps& maps);       // libc: the first path is that of malloc()
std::vector<std::string> thread_library_paths(const ProcessMaps& maps);  // libraries that keep lists of threads

// The allocator library that a file name stands for: "libjemalloc.so.2". `unknown` for any other file.
AllocatorName allocator_of_library(std::string_view path);

// Names the allocator that serves malloc(). A mapped allocator library counts only if it was preloaded, or if glibc's
// malloc was never used, because a program can load such a library for its own use. `environ` is the environment of the
// process at its start.
AllocatorName find_allocator(const ProcessMaps& maps, std::string_view environ, const GlibcMalloc* glibc);

}  // namespace memscope
