#pragma once
#include <string_view>
#include <vector>

#include "base/files.h"
#include "model/probe_places.h"
#include "sources/gpu/mapped_library.h"

namespace memscope {

constexpr std::string_view kCudaFileName = "libcuda.so";  // prefix of the file names

// The executable mappings of a process whose file is named like the CUDA driver, one per file. The name proves nothing.
std::vector<MappedRange> cuda_mappings(std::string_view maps);

// File offsets of the followed calls, each offset once. Calls that the file does not export, or whose address is not in
// executable code, are left out, because older drivers have fewer calls.
std::vector<CudaPlace> cuda_places(const ElfFile& file);

struct CudaLibrary {
    Fd file{};
    FileIdentity identity{};
    std::vector<CudaPlace> places{};
};
// Opens the file of a mapping. An error if it does not exist any more or is not a CUDA driver library.
Result<CudaLibrary> open_cuda_library(const SysRoot& root, pid_t pid, const MappedRange& mapping);

}  // namespace memscope
