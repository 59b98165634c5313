#pragma once
#include <string_view>
#include <vector>

#include "base/files.h"
#include "kernel/features/cuda_calls.h"
#include "sources/gpu/mapped_library.h"

namespace memscope {

constexpr std::string_view kCudaFileName = "libcuda.so";  // how the names of such files begin

// The files of a process that are named like the CUDA driver and mapped to be run, each once. Anybody can name a file
// so.
std::vector<MappedRange> cuda_mappings(std::string_view maps);

// Where the followed calls begin in the file, by offset, each place once. Those it does not export, or not in code, are
// left out: older drivers have fewer.
std::vector<CudaPlace> cuda_places(const ElfFile& file);

struct CudaLibrary {
    Fd file{};
    FileIdentity identity{};
    std::vector<CudaPlace> places{};
};
// The file behind a mapping. An error where it is not there any more, or is no such library.
Result<CudaLibrary> open_cuda_library(const SysRoot& root, pid_t pid, const MappedRange& mapping);

}  // namespace memscope
