#include "sources/proc/mountinfo.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/text.h"

namespace memscope {
namespace {

bool is_octal(char c) { return c >= '0' && c <= '7'; }

// The kernel writes space, tab, newline and backslash as \040, \011, \012 and \134.
std::string unescaped_mount(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool escape = text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) && is_octal(text[i + 2]) &&
                            is_octal(text[i + 3]);
        if (!escape) {
            out += text[i];
            continue;
        }
        out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
        i += 3;
    }
    return out;
}

std::optional<int> parse_id(std::string_view text) {
    const auto number = parse_number(text);
    if (!number || *number > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) return std::nullopt;
    return static_cast<int>(*number);
}

std::optional<Mount> parse_mount(std::string_view line) {
    const auto fields = split(line, ' ');
    constexpr std::size_t kFixed = 6;
    if (fields.size() < kFixed) return std::nullopt;
    // Optional fields (shared:1 master:2) end with a lone "-". Type, source and super options follow it.
    const auto dash = std::find(fields.begin() + kFixed, fields.end(), "-");
    if (fields.end() - dash < 3) return std::nullopt;
    const auto id = parse_id(fields[0]);
    const auto parent = parse_id(fields[1]);
    if (!id || !parent) return std::nullopt;
    return Mount{.id = *id,
                 .parent = *parent,
                 .device = std::string(fields[2]),
                 .root = unescaped_mount(fields[3]),
                 .point = unescaped_mount(fields[4]),
                 .type = std::string(dash[1]),
                 .super_options = fields.end() - dash > 3 ? std::string(dash[3]) : std::string()};
}

}  // namespace

std::vector<Mount> parse_mountinfo(std::string_view text) {
    std::vector<Mount> mounts;
    for_each_line(text, [&](std::string_view line) {
        if (auto mount = parse_mount(line)) mounts.push_back(std::move(*mount));
    });
    return mounts;
}

Result<MountList> read_mountinfo(const SysRoot& root, const std::string& process) {
    auto text = read_file(root.proc / process / "mountinfo", kMountinfoLimit);
    if (!text) return text.error();
    MountList list{.bytes = text->size(), .truncated = text->size() == kMountinfoLimit};
    if (list.truncated) text->resize(text->rfind('\n') + 1);  // the last line may be incomplete; npos + 1 is 0
    list.mounts = parse_mountinfo(*text);
    return list;
}

const Mount* mount_with(const std::vector<Mount>& mounts, std::string_view point, int parent) {
    const auto found = std::find_if(mounts.begin(), mounts.end(), [&](const Mount& mount) {
        return mount.parent == parent && mount.id != parent && mount.point == point;
    });
    return found == mounts.end() ? nullptr : &*found;
}

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
    const auto search = [&](const std::string& process) {
        const auto list = read_mountinfo(root, process);
        return list ? mount_of_device(list->mounts, device) : std::string();
    };
    for (const pid_t pid : processes)
        if (std::string point = search(std::to_string(pid)); !point.empty()) return point;
    return search("self");
}

}  // namespace memscope
