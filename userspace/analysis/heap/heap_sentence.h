#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "model/heap/heap.h"
#include "model/snapshot.h"

namespace memscope {

// One sentence or a few: whether the memory of the process is live, or freed and kept by an allocator, and what the
// user can do. Pure and printable, for the command `heap`.
std::string heap_sentence(const HeapCensus& census);

// For a verdict, a precursor or a death: describes memory that an allocator keeps free, and how to get it back, without
// a period at its end: "41 GiB of 62 GiB are free inside malloc, where 64 arenas keep what 64 threads freed. This is
// not a leak of your objects: ...". `threads` is the number of threads of the process, if it is known.
std::string free_memory_sentence(const HeapCensus& census, HeapPart part, std::optional<std::uint32_t> threads);

// The sentence for the process of the target, or of one of its roles, that has most of that part. Empty if no process
// has a census.
std::string free_memory_sentence(const TargetSnapshot& target, HeapPart part, const std::optional<RoleKey>& role = {});

// Describes free memory for the reason of a precursor, if it is a large part of `held` in the latest census of the
// largest process, and either most of the memory of that process or the cause of the growth. Empty if it is not, or if
// that census is old. `now`: seconds since 1970.
std::string much_free_memory_sentence(const TargetSnapshot& target, Bytes held, double now);

// True for an allocator that is recognized, but whose memory cannot be divided into live and free.
bool is_other_allocator(AllocatorName name);

}  // namespace memscope
