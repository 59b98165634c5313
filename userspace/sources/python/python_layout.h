#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include <memscope/shared/stacks.h>

namespace memscope {

// Offsets inside CPython. Versions are 100 * major + minor: 310, 311, ...

constexpr int python_version(std::uint64_t hex_version) {  // PY_VERSION_HEX: 0x030b02f0
    return static_cast<int>((hex_version >> 24U & 0xFFU) * 100 + (hex_version >> 16U & 0xFFU));
}
std::string python_version_text(int version);  // "3.11"

// For 3.10 to 3.12, whose offsets are the same in all their releases. `runtime` and `pthread_tid` are not set.
Result<ms_python> python_layout(int version);

// From 3.13 on, an interpreter describes its own offsets: its _PyRuntime begins with a table, _Py_DebugOffsets.
constexpr std::size_t kDebugOffsetsBytes =
    96 * sizeof(std::uint64_t);  // the part of the table that reaches to the last string field of every known version
bool has_debug_offsets(std::span<const std::byte> runtime);
// For 3.13 to 3.15, whose tables are known. The table is untrusted: values that could mislead the BPF program are
// refused.
Result<ms_python> python_layout(std::span<const std::byte> debug_offsets);

// Offsets in PyASCIIObject, the header of all strings. They are the same in all versions.
constexpr std::uint64_t kTextLength = 16;
constexpr std::uint64_t kTextState = 32;

}  // namespace memscope
