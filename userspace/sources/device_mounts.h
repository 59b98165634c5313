#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "sources/mountinfo.h"

namespace memscope {

// Where the file system with that device number (as the kernel counts: 12 bits and 20) is mounted: in the first of
// these processes' mount namespaces that has it, else in our own. Empty: nowhere that we see.
std::string mount_of_device(const SysRoot& root, std::uint32_t device, const std::vector<pid_t>& processes);
std::string mount_of_device(const std::vector<Mount>& mounts, std::uint32_t device);

}  // namespace memscope
