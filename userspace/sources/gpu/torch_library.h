#pragma once
#include <string_view>
#include <vector>

#include "kernel/features/torch_probes.h"
#include "sources/elf/usdt.h"
#include "sources/gpu/mapped_library.h"

namespace memscope {

constexpr std::string_view kTorchFileName = "libc10_cuda.so";  // how the names of such files begin

// Where tensors are handed out and taken back. All of the places, or an error: with some of them the sums are wrong.
Result<std::vector<TorchPlace>> torch_places(const ElfFile& file, Machine machine = kThisMachine);

struct TorchLibrary {
    Fd file{};
    std::vector<TorchPlace> places{};
};
// The file behind a mapping. An error where it is not there any more, or has no such probes.
Result<TorchLibrary> open_torch_library(const SysRoot& root, pid_t pid, const MappedRange& mapping);

}  // namespace memscope
