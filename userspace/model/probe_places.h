#pragma once
#include <cstdint>

#include <memscope/shared/cuda.h>
#include <memscope/shared/gpu_tensors.h>
#include <memscope/shared/host_tensors.h>

namespace memscope {

// Places in the files of libraries at which processes are probed.

// A function of the CUDA driver, and the offset of its code in a library file.
struct CudaPlace {
    ms_cuda_call call{};
    std::uint64_t offset = 0;
    bool operator==(const CudaPlace&) const = default;
};

// A static probe (USDT) of PyTorch in a library file.
struct GpuTensorPlace {
    std::uint64_t offset = 0;
    std::uint64_t semaphore = 0;  // offset in the file; 0: none
    ms_gpu_tensor_site site{};
};

// A function of PyTorch's memory reporter in a library file.
struct HostTensorPlace {
    ms_host_tensor_call call{};
    std::uint64_t offset = 0;
};

}  // namespace memscope
