#pragma once
#include <string_view>
#include <vector>

#include "model/probe_places.h"
#include "sources/gpu/mapped_library.h"

namespace memscope {

constexpr std::string_view kHostTensorFileName = "libc10.so";  // prefix of the file names

// The functions that PyTorch calls for each storage of a host tensor. An error if New or Delete is missing, because one
// of them alone gives wrong sums.
Result<std::vector<HostTensorPlace>> host_tensor_places(const ElfFile& file);

struct HostTensorLibrary {
    Fd file{};
    std::vector<HostTensorPlace> places{};
};
// Opens the file of a mapping. An error if it does not exist any more or does not export these functions.
Result<HostTensorLibrary> open_host_tensor_library(const SysRoot& root, pid_t pid, const MappedRange& mapping);

}  // namespace memscope
