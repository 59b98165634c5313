#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "model/growth/stack.h"
#include "model/processes/process.h"

namespace memscope {

// Storages of PyTorch's host tensors that one process holds.
struct HostTensorAccount {
    ProcessId process{};
    SpaceId space{};
    std::int64_t bytes = 0;
    std::uint64_t storages = 0;
    std::int64_t lost = 0;  // bytes of storages that found the map full
};

// A hash of a process and of the Python calls of a stack. A stack without Python calls has a CallsId of its own.
enum class CallsId : std::uint64_t {};

// Bytes of one stack that are still held, 0 if all were freed.
struct HostTensorSite {
    SpaceId space{};
    StackId stack = kNoStack;
    CallsId calls{};
    std::int64_t bytes = 0;
};

// Frees of all stacks with the same Python calls since the last reading: the lowest number of live bytes right after a
// free, the highest number right before a free, and the largest fall from a high number to a later low number.
struct HostTensorFrees {
    std::int64_t low = 0;
    std::int64_t high = 0;
    std::int64_t fall = 0;
};

struct HostTensorReading {
    using Calls = std::pair<SpaceId, CallsId>;
    std::vector<HostTensorSite> sites{};
    std::map<Calls, std::optional<HostTensorFrees>> calls{};  // of all sites; `nullopt`: nothing was freed
};

}  // namespace memscope
