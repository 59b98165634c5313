#include "sources/device_mounts.h"

#include <algorithm>

namespace memscope {
namespace {

constexpr std::uint32_t kMinorBits = 20;

}  // namespace

std::string mount_of_device(const std::vector<Mount>& mounts, std::uint32_t device) {
    const std::string number =
        std::to_string(device >> kMinorBits) + ":" + std::to_string(device & ((std::uint32_t{1} << kMinorBits) - 1));
    const auto found = std::ranges::find(mounts, number, &Mount::device);
    return found == mounts.end() ? std::string() : found->point;
}

std::string mount_of_device(const SysRoot& root, std::uint32_t device, const std::vector<pid_t>& processes) {
    const auto look = [&](const std::string& who) {
        const auto text = read_file(root.proc / who / "mountinfo");
        return text ? mount_of_device(parse_mountinfo(*text), device) : std::string();
    };
    for (const pid_t pid : processes)
        if (std::string point = look(std::to_string(pid)); !point.empty()) return point;
    return look("self");
}

}  // namespace memscope
