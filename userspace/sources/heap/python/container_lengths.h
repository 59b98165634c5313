#pragma once
#include <span>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "model/heap/container_places.h"
#include "sources/heap/present_memory.h"

namespace memscope {

// Reads the lengths of containers again: 64 bytes for each of them. One reading for each place, in the same order. A
// place whose addresses are absurd is `gone`, because places come from a census of a process that can forge its heap.
std::vector<ContainerReading> read_container_lengths(MemorySource& source, std::span<const ContainerPlace> places,
                                                     const ReadDeadline& deadline);

// A process can block its reader, so this runs in a helper process. ESRCH if the process has ended.
Result<std::vector<ContainerReading>> read_container_lengths(const SysRoot& root, const ProcessId& id,
                                                             std::span<const ContainerPlace> places);

}  // namespace memscope
