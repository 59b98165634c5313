#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/result.h"

namespace memscope {

// One line of /proc/PID/mountinfo, with octal escapes decoded.
struct Mount {
    int id = 0;
    int parent = 0;
    std::string device{};  // "0:25"
    std::string root{};    // the mounted part of the file system; "/" is all of it
    std::string point{};
    std::string type{};
    std::string super_options{};
};

// Lines that cannot be parsed are left out.
std::vector<Mount> parse_mountinfo(std::string_view text);

// On nodes with many containers the file has megabytes of overlay mounts, in our mount namespace and in those of
// watched processes.
constexpr std::size_t kMountinfoLimit = std::size_t{16} << 20;
struct MountList {
    std::vector<Mount> mounts{};
    std::size_t bytes = 0;   // of the text that was read
    bool truncated = false;  // the file is longer than kMountinfoLimit
};
Result<MountList> read_mountinfo(const SysRoot& root, const std::string& process);  // a pid, or "self"
const Mount* mount_with(const std::vector<Mount>& mounts, std::string_view point, int parent);

// Mount point of the file system with that device number (in the kernel's encoding: 12 bits major, 20 bits minor).
// Searches the mount namespaces of these processes in order, then our own. Empty if no namespace that we can see has
// it.
std::string mount_of_device(const SysRoot& root, std::uint32_t device, const std::vector<pid_t>& processes);
std::string mount_of_device(const std::vector<Mount>& mounts, std::uint32_t device);

}  // namespace memscope
