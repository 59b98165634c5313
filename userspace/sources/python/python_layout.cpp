#include "sources/python/python_layout.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace memscope {
namespace {

constexpr std::string_view kCookie = "xdebugpy";
constexpr std::uint16_t kNone = MS_PYTHON_NO_OFFSET;
constexpr std::uint64_t kFrameLimit = 112;
constexpr std::uint64_t kInterpreterLimit = std::uint64_t{1} << 20;

// 3.10 has PyFrameObject, whose instruction index is an int. 3.11 and 3.12 have _PyInterpreterFrame, reached through a
// C frame.
constexpr ms_python kLayouts[] = {
    {.runtime = 0,
     .interpreter_next = 0,
     .interpreter_threads = 8,
     .version = 310,
     .runtime_interpreters = 32,
     .thread_next = 8,
     .thread_id = 176,
     .thread_frame = 24,
     .cframe_frame = kNone,
     .pthread_tid = 0,
     .frame_bytes = 104,
     .frame_previous = 24,
     .frame_code = 32,
     .frame_instruction = 96,
     .frame_owner = kNone,
     .code_bytecode = 0,
     .code_file = 104,
     .code_name = 112,
     .code_first_line = 40,
     .code_line_table = 120,
     .text_data = 48,
     .bytes_size = 16,
     .bytes_data = 32,
     .pad = 0},
    {.runtime = 0,
     .interpreter_next = 0,
     .interpreter_threads = 16,
     .version = 311,
     .runtime_interpreters = 40,
     .thread_next = 8,
     .thread_id = 160,
     .thread_frame = 56,
     .cframe_frame = 8,
     .pthread_tid = 0,
     .frame_bytes = 72,
     .frame_previous = 48,
     .frame_code = 32,
     .frame_instruction = 56,
     .frame_owner = 69,
     .code_bytecode = 184,
     .code_file = 112,
     .code_name = 128,
     .code_first_line = 72,
     .code_line_table = 136,
     .text_data = 48,
     .bytes_size = 16,
     .bytes_data = 32,
     .pad = 0},
    {.runtime = 0,
     .interpreter_next = 0,
     .interpreter_threads = 72,
     .version = 312,
     .runtime_interpreters = 40,
     .thread_next = 8,
     .thread_id = 144,
     .thread_frame = 56,
     .cframe_frame = 0,
     .pthread_tid = 0,
     .frame_bytes = 72,
     .frame_previous = 8,
     .frame_code = 0,
     .frame_instruction = 56,
     .frame_owner = 70,
     .code_bytecode = 192,
     .code_file = 112,
     .code_name = 128,
     .code_first_line = 68,
     .code_line_table = 136,
     .text_data = 40,
     .bytes_size = 16,
     .bytes_data = 32,
     .pad = 0},
};

// First word of each group of _Py_DebugOffsets. Later releases append fields to a group, behind the fields that are
// used here.
struct DebugOffsets {
    int version;
    std::size_t thread, thread_id, frame, code, bytes, text;
};
constexpr DebugOffsets kDebugOffsets[] = {
    {.version = 313, .thread = 19, .thread_id = 25, .frame = 28, .code = 34, .bytes = 64, .text = 67},
    {.version = 314, .thread = 22, .thread_id = 28, .frame = 31, .code = 39, .bytes = 74, .text = 77},
    {.version = 315, .thread = 22, .thread_id = 31, .frame = 39, .code = 47, .bytes = 86, .text = 89},
};
constexpr std::size_t kVersionWord = 1, kFreeThreadedWord = 2, kRuntimeWord = 3, kInterpreterWord = 6;

Error unknown(int version) {
    return plain_error("CPython " + python_version_text(version) + " has a layout that memscope does not know",
                       "memscope knows 3.10 to 3.15");
}

// Reads offsets from the table and records whether one of them is invalid.
class OffsetTable {
  public:
    explicit OffsetTable(std::span<const std::byte> table) : table_(table) {}

    std::uint64_t word(std::size_t index) {
        std::uint64_t value = 0;
        if (table_.size() < (index + 1) * sizeof value)
            wrong_ = true;
        else
            std::memcpy(&value, table_.data() + index * sizeof value, sizeof value);
        return value;
    }
    std::uint32_t below(std::uint64_t limit, std::size_t index) {
        const std::uint64_t value = word(index);
        if (value >= limit) wrong_ = true;
        return value < limit ? static_cast<std::uint32_t>(value) : 0;
    }
    std::uint16_t offset(std::size_t index) { return static_cast<std::uint16_t>(below(MS_PYTHON_NO_OFFSET, index)); }
    // An offset within the part of a frame that is read. The BPF program reads such fields as whole words.
    std::uint16_t in_frame(std::size_t index, std::size_t size) {
        const std::uint32_t value = below(kFrameLimit - size + 1, index);
        if (value % size != 0) wrong_ = true;
        return static_cast<std::uint16_t>(value);
    }
    void expect(std::uint64_t value, std::size_t index) {
        if (word(index) != value) wrong_ = true;
    }
    bool wrong() const { return wrong_; }

  private:
    std::span<const std::byte> table_;
    bool wrong_ = false;
};

ms_python layout_from(OffsetTable& offsets, const DebugOffsets& at) {
    ms_python layout{};
    layout.version = static_cast<std::uint16_t>(at.version);
    layout.runtime_interpreters = offsets.offset(kRuntimeWord + 2);
    layout.interpreter_next = offsets.below(kInterpreterLimit, kInterpreterWord + 2);
    layout.interpreter_threads = offsets.below(kInterpreterLimit, kInterpreterWord + 3);
    layout.thread_next = offsets.offset(at.thread + 2);
    layout.thread_frame = offsets.offset(at.thread + 4);
    layout.thread_id = offsets.offset(at.thread_id);
    layout.cframe_frame = kNone;
    layout.frame_previous = offsets.in_frame(at.frame + 1, 8);
    layout.frame_code = offsets.in_frame(at.frame + 2, 8);
    layout.frame_instruction = offsets.in_frame(at.frame + 3, 8);
    layout.frame_owner = offsets.in_frame(at.frame + 5, 1);
    const auto last_word = std::max({layout.frame_previous, layout.frame_code, layout.frame_instruction});
    layout.frame_bytes = static_cast<std::uint16_t>(std::max(last_word + 8, (layout.frame_owner + 8) / 8 * 8));
    layout.code_file = offsets.offset(at.code + 1);
    layout.code_name = offsets.offset(at.code + 3);
    layout.code_line_table = offsets.offset(at.code + 4);
    layout.code_first_line = offsets.offset(at.code + 5);
    layout.code_bytecode = offsets.offset(at.code + 9);
    layout.bytes_size = offsets.offset(at.bytes + 1);
    layout.bytes_data = offsets.offset(at.bytes + 2);
    offsets.expect(kTextState, at.text + 1);
    offsets.expect(kTextLength, at.text + 2);
    layout.text_data = offsets.offset(at.text + 3);
    return layout;
}

}  // namespace

std::string python_version_text(int version) {
    return std::to_string(version / 100) + "." + std::to_string(version % 100);
}

Result<ms_python> python_layout(int version) {
    for (const ms_python& layout : kLayouts)
        if (layout.version == version) return layout;
    return unknown(version);
}

bool has_debug_offsets(std::span<const std::byte> runtime) {
    return runtime.size() >= kCookie.size() && std::memcmp(runtime.data(), kCookie.data(), kCookie.size()) == 0;
}

Result<ms_python> python_layout(std::span<const std::byte> debug_offsets) {
    if (!has_debug_offsets(debug_offsets)) return plain_error("_PyRuntime has no table of offsets");
    OffsetTable offsets(debug_offsets);
    const int version = python_version(offsets.word(kVersionWord));
    const bool free_threaded = offsets.word(kFreeThreadedWord) != 0;
    if (offsets.wrong()) return plain_error("the table of offsets in _PyRuntime is truncated");
    for (const DebugOffsets& known : kDebugOffsets) {
        if (known.version != version) continue;
        if (free_threaded)
            return plain_error("free-threaded CPython " + python_version_text(version) + " is not supported");
        const ms_python layout = layout_from(offsets, known);
        if (offsets.wrong())
            return plain_error("the table of offsets of this CPython " + python_version_text(version) +
                               " has invalid values");
        return layout;
    }
    return unknown(version);
}

}  // namespace memscope
