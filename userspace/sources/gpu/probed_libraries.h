#pragma once
#include <string_view>
#include <vector>

#include "base/files.h"
#include "model/probe_places.h"
#include "sources/elf/elf_file.h"
#include "sources/elf/usdt.h"
#include "sources/proc/mapped_file.h"
#include "sources/proc/process_maps.h"

namespace memscope {

// The libraries of watched processes whose calls are probed: the CUDA driver, and the two libraries of PyTorch that
// allocate tensors on GPUs and in host memory.

// Prefixes of the file names.
constexpr std::string_view kCudaFileName = "libcuda.so";
constexpr std::string_view kGpuTensorFileName = "libc10_cuda.so";
constexpr std::string_view kHostTensorFileName = "libc10.so";

// The executable mappings of a process whose file name begins with `name`, one per file, up to a limit. The name proves
// nothing.
std::vector<MappedRange> mappings_named(std::string_view maps, std::string_view name);

struct MappedLibrary {
    Fd file{};
    FileIdentity identity{};
    ElfFile elf;
};
// Opens the file of a mapping. An error if it does not exist any more or is not an ELF file.
Result<MappedLibrary> open_mapped_library(const SysRoot& root, pid_t pid, const MappedRange& mapping);

// File offsets of the followed calls, each offset once. Calls that the file does not export, or whose address is not in
// executable code, are left out, because older drivers have fewer calls.
std::vector<CudaPlace> cuda_places(const ElfFile& file);
// The probes at which tensors on GPUs are allocated and freed. An error if a probe cannot be followed, because an
// incomplete set gives wrong sums.
Result<std::vector<GpuTensorPlace>> gpu_tensor_places(const ElfFile& file, Machine machine = kThisMachine);
// The functions that PyTorch calls for each storage of a host tensor. An error if New or Delete is missing, because one
// of them alone gives wrong sums.
Result<std::vector<HostTensorPlace>> host_tensor_places(const ElfFile& file);

template <class Place>
struct ProbedLibrary {
    Fd file{};
    std::vector<Place> places{};
};
// Open the file of a mapping. An error if it does not exist any more or has no places to probe.
Result<ProbedLibrary<CudaPlace>> open_cuda_library(const SysRoot& root, pid_t pid, const MappedRange& mapping);
Result<ProbedLibrary<GpuTensorPlace>> open_gpu_tensor_library(const SysRoot& root, pid_t pid,
                                                              const MappedRange& mapping);
Result<ProbedLibrary<HostTensorPlace>> open_host_tensor_library(const SysRoot& root, pid_t pid,
                                                                const MappedRange& mapping);

}  // namespace memscope
