#include "sources/proc/process_maps.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text.h"

namespace memscope {
namespace {

template <class Number>
bool parse_hex(std::string_view text, Number& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
    return error == std::errc() && end == text.data() + text.size();
}

std::string_view take_until(std::string_view& line, char separator) {
    const auto end = line.find(separator);
    const std::string_view taken = line.substr(0, end);
    line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
    return taken;
}

// The kernel writes a newline as \012. Unlike in mountinfo it does not escape a backslash, so this is the only escape.
std::string unescaped_path(std::string_view path) {
    constexpr std::string_view kNewline = "\\012";
    std::string out;
    for (;;) {
        const auto found = path.find(kNewline);
        out += path.substr(0, found);
        if (found == std::string_view::npos) return out;
        out += '\n';
        path.remove_prefix(found + kNewline.size());
    }
}

std::optional<MappedRange> parse_range(std::string_view line) {
    MappedRange range;
    const std::string_view start = take_until(line, '-'), end = take_until(line, ' ');
    const std::string_view access = take_until(line, ' '), offset = take_until(line, ' ');
    const std::string_view dev_major = take_until(line, ':'), dev_minor = take_until(line, ' ');
    const auto inode = parse_number(take_until(line, ' '));
    if (!parse_hex(start, range.start) || !parse_hex(end, range.end) || range.start >= range.end) return std::nullopt;
    if (access.size() != 4 || !parse_hex(offset, range.offset) || !inode) return std::nullopt;
    if (!parse_hex(dev_major, range.dev_major) || !parse_hex(dev_minor, range.dev_minor)) return std::nullopt;
    range.readable = access[0] == 'r';
    range.writable = access[1] == 'w';
    range.executable = access[2] == 'x';
    range.shared = access[3] == 's';
    range.inode = *inode;

    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));  // padded to a column
    constexpr std::string_view kDeleted = " (deleted)";
    if (line.starts_with('/') && line.ends_with(kDeleted)) {
        range.deleted = true;
        line.remove_suffix(kDeleted.size());
    }
    range.path = unescaped_path(line);
    return range;
}

}  // namespace

const MappedRange* ProcessMaps::at(std::uint64_t address) const {
    const auto behind = std::upper_bound(ranges.begin(), ranges.end(), address,
                                         [](std::uint64_t a, const MappedRange& range) { return a < range.start; });
    if (behind == ranges.begin() || address >= behind[-1].end) return nullptr;
    return &behind[-1];
}

ProcessMaps parse_process_maps(std::string_view text) {
    ProcessMaps maps;
    while (!text.empty()) {
        if (maps.ranges.size() == kMapsRangeLimit) {
            maps.truncated = true;
            break;
        }
        auto range = parse_range(take_until(text, '\n'));
        if (range && (maps.ranges.empty() || maps.ranges.back().end <= range->start))
            maps.ranges.push_back(std::move(*range));
    }
    return maps;
}

Result<ProcessMaps> read_process_maps(const SysRoot& root, pid_t pid) {
    const auto process = open_directory(root.proc / std::to_string(pid));
    if (!process) return process.error();
    return read_process_maps(*process);
}

Result<ProcessMaps> read_process_maps(const Fd& process) {
    auto text = read_file_at(process, "maps", kMapsTextLimit);
    if (!text) return text.error();
    const bool cut = text->size() == kMapsTextLimit;
    if (cut) text->resize(text->rfind('\n') + 1);  // npos + 1 is 0
    ProcessMaps maps = parse_process_maps(*text);
    maps.truncated = maps.truncated || cut;
    return maps;
}

namespace {

bool is_made_by_the_kernel(std::string_view path) {
    return path.starts_with("[") && path != "[heap]" && !path.starts_with("[anon:") &&
           !path.starts_with("[anon_shmem:") && !path.starts_with("[stack:");
}

// Recognizes shared memory by the names that the kernel gives to it and by two usual mount points. A file in a tmpfs
// elsewhere cannot be distinguished from an ordinary file.
bool is_shared_memory(std::string_view path) {
    for (const std::string_view start :
         {"/memfd:", "/dev/shm/", "/dev/zero", "/dev/hugepages/", "/anon_hugepage", "[anon_shmem:"})
        if (path.starts_with(start)) return true;
    return false;
}

RangeKind kind_of(const MappedRange& range) {
    const std::string_view path = range.path;
    if (path.starts_with("/SYSV")) return RangeKind::attached;
    if (range.shared) return is_shared_memory(path) ? RangeKind::shared : RangeKind::file;
    if (path.empty() || path.starts_with("[") || path.starts_with("/dev/zero") || path.starts_with("/anon_hugepage"))
        return RangeKind::anonymous;
    return RangeKind::file;
}

}  // namespace

std::vector<FoundRange> found_ranges(const ProcessMaps& maps) {
    std::vector<FoundRange> found;
    for (const MappedRange& range : maps.ranges) {
        if (is_made_by_the_kernel(range.path)) continue;
        const RangeKind kind = kind_of(range);
        found.push_back({.range = {range.start, range.end},
                         .kind = kind,
                         .access = {range.readable, range.writable, range.executable},
                         .shared_file = range.shared && kind == RangeKind::file});
    }
    return found;
}

}  // namespace memscope
