#include <algorithm>
#include <cstring>
#include <limits>

#include "base/text.h"
#include "sources/nvml.h"

namespace memscope {
namespace {

template <class T>
T value_at(std::span<const std::byte> bytes, std::size_t offset) {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

// No field that ends an entry can end in the byte of the sentinel: memory has fewer bits, and instances are small
// numbers or all ones.
std::size_t end_of_writing(std::span<const std::byte> buffer) {
    const auto last = std::find_if(buffer.rbegin(), buffer.rend(), [](std::byte b) { return b != kNvmlSentinel; });
    return static_cast<std::size_t>(buffer.rend() - last);
}

}  // namespace

std::optional<std::vector<GpuHolder>> parse_nvml_processes(std::span<const std::byte> buffer, std::size_t count) {
    std::vector<GpuHolder> holders;
    if (count == 0) return holders;
    if (count > buffer.size() / nvml::kEntrySizes[0]) return std::nullopt;
    const std::size_t end = end_of_writing(buffer);
    const auto* const size = std::ranges::find_if(nvml::kEntrySizes, [&](std::size_t s) { return count * s == end; });
    if (size == std::end(nvml::kEntrySizes)) return std::nullopt;
    for (std::size_t i = 0; i < count; ++i) {
        const auto entry = buffer.subspan(i * *size, *size);
        const auto pid = value_at<std::uint32_t>(entry, 0);
        const auto used = value_at<std::uint64_t>(entry, nvml::kUsedAt);
        if (pid == 0 || pid > static_cast<std::uint32_t>(std::numeric_limits<pid_t>::max())) continue;
        holders.push_back({.pid = static_cast<pid_t>(pid),
                           .used = used == nvml::kUsedUnknown ? std::nullopt : std::optional(Bytes{used})});
    }
    return holders;
}

std::string nvml_text(std::span<const char> written) {
    const auto end = std::ranges::find(written, '\0');
    return printable({written.data(), static_cast<std::size_t>(end - written.begin())});
}

}  // namespace memscope
