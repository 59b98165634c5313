#include "kernel/decode_stacks.h"

#include <algorithm>
#include <cstring>

namespace memscope {
namespace {

Error malformed(const char* what) { return {std::make_error_code(std::errc::bad_message), what, {}}; }

}  // namespace

Result<RawStack> decode_stack(std::span<const std::byte> record) {
    ms_stack wire;
    if (record.size() < sizeof wire) return malformed("stack record");
    std::memcpy(&wire, record.data(), sizeof wire);
    if (wire.python_count > MS_PYTHON_FRAMES || wire.native_count > MS_NATIVE_FRAMES) return malformed("stack record");
    RawStack stack{.id = StackId{wire.id},
                   .space = SpaceId{wire.h.target},
                   .process = {static_cast<pid_t>(wire.h.pid), wire.h.start_ns},
                   .python = {},
                   .native = {wire.native, wire.native + wire.native_count},
                   .truncated = wire.python_truncated != 0};
    stack.python.reserve(wire.python_count);
    for (const ms_python_frame& frame : std::span(wire.python, wire.python_count))
        stack.python.push_back({frame.code, frame.instruction, frame.first_line});
    return stack;
}

Result<ms_code> decode_code(std::span<const std::byte> record) {
    ms_code code;
    if (record.size() < sizeof code) return malformed("code object record");
    std::memcpy(&code, record.data(), sizeof code);
    code.name[sizeof code.name - 1] = '\0';
    code.file[sizeof code.file - 1] = '\0';
    return code;
}

}  // namespace memscope
