#pragma once
#include <cstddef>
#include <string>

#include "outputs/heap/heap_json.h"

namespace memscope {

// For each process: the answer in a sentence, its Python objects and its parts as tables, its allocator, what could not
// be read.
std::string heap_text(const HeapReport& report, std::size_t columns);

}  // namespace memscope
