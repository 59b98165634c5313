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
    bool truncated = false;  // there were more Python frames
};

// Growth of one stack since it was first seen.
struct StackGrowth {
    StackId stack = kNoStack;
    SpaceId space{};
    pid_t pid = 0;
    std::int64_t bytes = 0;
};

// The anonymous memory of one process at its last attribution.
struct SpaceGrowth {
    SpaceId space{};
    ProcessId process{};
    std::int64_t bytes = 0;     // resident
    std::int64_t external = 0;  // changes that other tasks made
    std::int64_t other = 0;     // by stacks without an entry of their own
    std::int64_t paused = 0;    // changes while the hook was detached
};

}  // namespace memscope
