#pragma once
#include <cstdint>
#include <vector>

#include "model/processes/process.h"

namespace memscope {

// A call stack of one address space, as a number. Zero: none of its own.
enum class StackId : std::uint64_t {};
constexpr StackId kNoStack{};

// An address space. A process that executes another program gets another one.
enum class SpaceId : std::uint64_t {};

// A stack as the kernel saw it: addresses, innermost first. They mean something only while the process lives.
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

// What one stack has grown by since it was seen first.
struct StackGrowth {
    StackId stack = kNoStack;
    SpaceId space{};
    pid_t pid = 0;
    std::int64_t bytes = 0;
};

// The anonymous memory of one process, as far as it was booked.
struct SpaceGrowth {
    SpaceId space{};
    ProcessId process{};
    std::int64_t bytes = 0;     // resident at the last booking
    std::int64_t external = 0;  // changes that the process did not make itself
    std::int64_t other = 0;     // by stacks that found no place
    std::int64_t paused = 0;    // while nobody looked
};

}  // namespace memscope
