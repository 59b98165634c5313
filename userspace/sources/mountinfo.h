#pragma once
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace memscope
