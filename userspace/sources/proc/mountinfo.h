#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace memscope {

// One line of /proc/PID/mountinfo, octal escapes taken out.
struct Mount {
    int id = 0;
    int parent = 0;
    std::string device{};  // "0:25"
    std::string root{};    // what of the file system is mounted: "/" is all of it
    std::string point{};
    std::string type{};
    std::string super_options{};
};

// Lines that are not understood are left out.
std::vector<Mount> parse_mountinfo(std::string_view text);
const Mount* mount_with(const std::vector<Mount>& mounts, std::string_view point, int parent);

// Where the file system with that device number (as the kernel counts: 12 bits and 20) is mounted: in the first of
// these processes' mount namespaces that has it, else in our own. Empty: nowhere that we see.
std::string mount_of_device(const SysRoot& root, std::uint32_t device, const std::vector<pid_t>& processes);
std::string mount_of_device(const std::vector<Mount>& mounts, std::uint32_t device);

}  // namespace memscope
