#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include <memscope/shared/stacks.h>

namespace memscope {

// Where things are inside CPython. Versions are 100 * major + minor: 310, 311, ...

constexpr int python_version(std::uint64_t hex_version) {  // PY_VERSION_HEX: 0x030b02f0
    return static_cast<int>((hex_version >> 24U & 0xFFU) * 100 + (hex_version >> 16U & 0xFFU));
}
std::string python_version_text(int version);  // "3.11"

// 3.10 to 3.12, whose offsets are the same in all their releases; `runtime` and `pthread_tid` are left to be found.
Result<ms_python> python_layout(int version);

// From 3.13 on an interpreter says itself where things are: its _PyRuntime begins with a table, _Py_DebugOffsets.
constexpr std::size_t kDebugOffsetsBytes =
    96 * sizeof(std::uint64_t);  // as much of the table as any version's strings are in
bool has_debug_offsets(std::span<const std::byte> runtime);
// 3.13 and 3.14; those are the ones whose table we know. Nothing in it is believed that could mislead the kernel side.
Result<ms_python> python_layout(std::span<const std::byte> debug_offsets);

// Where it is the same in all of them: PyASCIIObject, the head of all strings.
constexpr std::uint64_t kTextLength = 16;
constexpr std::uint64_t kTextState = 32;

}  // namespace memscope
