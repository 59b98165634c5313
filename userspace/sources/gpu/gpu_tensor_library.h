#pragma once
#include <string_view>
#include <vector>

#include "model/probe_places.h"
#include "sources/elf/usdt.h"
#include "sources/gpu/mapped_library.h"

namespace memscope {

constexpr std::string_view kGpuTensorFileName = "libc10_cuda.so";  // prefix of the file names

// The probes at which tensors are allocated and freed. An error if a probe cannot be followed, because an incomplete
// set gives wrong sums.
Result<std::vector<GpuTensorPlace>> gpu_tensor_places(const ElfFile& file, Machine machine = kThisMachine);

struct GpuTensorLibrary {
    Fd file{};
    std::vector<GpuTensorPlace> places{};
};
// Opens the file of a mapping. An error if it does not exist any more or has no such probes.
Result<GpuTensorLibrary> open_gpu_tensor_library(const SysRoot& root, pid_t pid, const MappedRange& mapping);

}  // namespace memscope
