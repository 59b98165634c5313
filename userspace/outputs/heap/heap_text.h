#pragma once
#include <cstddef>
#include <string>

#include "outputs/heap/heap_json.h"

namespace memscope {

// For each process: what is going on in a sentence, its parts as a table, its allocator, what could not be read.
std::string heap_text(const HeapReport& report, std::size_t columns);

}  // namespace memscope
