#pragma once
#include <string>

#include "model/heap/heap.h"

namespace memscope {

// One sentence or a few: whether the memory of the process is live, or freed and kept by an allocator, and what the
// user can do. Pure and printable, for the command `heap` and for the explanation of a verdict.
std::string explain_heap(const HeapCensus& census);

// True for an allocator that is recognized, but whose memory cannot be divided into live and free.
bool is_other_allocator(AllocatorName name);

}  // namespace memscope
