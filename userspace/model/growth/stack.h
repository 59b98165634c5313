#pragma once
#include <cstdint>
#include <vector>

#include "model/processes/process.h"

namespace memscope {

// Id of a call stack of one address space. Zero: no stack of its own.
enum class StackId : std::uint64_t {};
constexpr StackId kNoStack{};

// Id of an address space. After an exec a process has a new one.
enum class SpaceId : std::uint64_t {};

// A stack as a BPF program sends it: addresses, innermost first. They can be resolved only while the process lives.
struct RawStack {
    struct PythonCall {
        std::uint64_t code = 0;         // address of the code object
        std::uint32_t instruction = 0;  // byte offset in its bytecode
        std::uint32_t first_line = 0;
    };

    StackId id = kNoStack;
    SpaceId space{};
    ProcessId process{};
    std::vector<PythonCall> python{};
    std::vector<std::uint64_t> native{};
    // Python frames that are missing between the innermost and the outermost ones (MS_PYTHON_OUTERMOST).
    std::uint32_t python_left_out = 0;
    Seconds recorded{};  // boot clock
};

// Anonymous memory that was added at a stack.
struct GrowthSample {
    SpaceId space{};
    ProcessId process{};
    std::uint64_t time_ns = 0;  // boot clock
    std::uint64_t address = 0;  // 0: not known, and `bytes` is a net change, which can be negative
    StackId stack = kNoStack;
    std::int64_t bytes = 0;  // for which the sample stands
};

// Bytes that a process holds, by the stack at which it got them. kNoStack: of stacks without an id.
struct HeldAtStack {
    ProcessId process{};
    StackId stack = kNoStack;
    std::int64_t bytes = 0;
    std::int64_t passing = 0;  // part of `bytes` that is likely to be freed soon, see Trough
    bool arena_sized = false;  // all its mappings have the size of an arena of Python's allocator
};

// An address space, and the anonymous memory that it had when it began: of its parent, or from before watching.
struct FollowedSpace {
    SpaceId space{};
    ProcessId process{};
    std::int64_t start_bytes = 0;
};

}  // namespace memscope
