#pragma once
#include <optional>
#include <string>

#include "model/snapshot.h"

namespace memscope {

// This many arenas usually mean that several threads allocate, each with free memory of its own.
inline constexpr std::uint64_t kManyArenas = 4;

// Describes memory that an allocator keeps free, and how to get it back, without a period at its end: "41 GiB of 62 GiB
// are free inside malloc, where 64 arenas keep what 64 threads freed. This is not a leak of your objects: ...".
// `threads` is the number of threads of the process, if it is known.
std::string free_memory_text(const HeapCensus& census, HeapPart part, std::optional<std::uint32_t> threads);

// The text for the process of the target, or of one of its roles, that has most of that part. Empty if no process has a
// census.
std::string free_memory_text(const TargetSnapshot& target, HeapPart part, const std::optional<RoleKey>& role = {});

// Describes free memory for the reason of a precursor, if it is a large part of `held` in the latest census of the
// largest process. Empty if it is not, or if that census is old. `now`: seconds since 1970.
std::string much_free_memory_text(const TargetSnapshot& target, Bytes held, double now);

}  // namespace memscope
