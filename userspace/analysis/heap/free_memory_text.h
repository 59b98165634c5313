#pragma once
#include <optional>
#include <string>

#include "model/snapshot.h"

namespace memscope {

// So many arenas usually mean that several threads allocate, each with free memory of its own.
inline constexpr std::uint64_t kManyArenas = 4;

// Describes memory that an allocator keeps free, and how to get it back, without a period at its end: "41 GiB of 62 GiB
// are free inside malloc, where 64 arenas keep what 64 threads freed. This is not a leak of your objects: ...".
// `threads` is the number of threads of the process, if it is known.
std::string free_memory_text(const HeapCensus& census, HeapPart part, std::optional<std::uint32_t> threads);

// The same for the process of the target, or of one of its roles, that has most of that part. Empty if no process has a
// census.
std::string free_memory_text(const TargetSnapshot& target, HeapPart part, const std::optional<RoleKey>& role = {});

// The free memory of the largest process, if it is a large part of `held` by a recent census; then it belongs to the
// reason of a precursor. Empty if not. `now`: seconds since 1970.
std::string much_free_memory_text(const TargetSnapshot& target, Bytes held, double now);

}  // namespace memscope
