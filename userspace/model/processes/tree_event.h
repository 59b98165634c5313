#pragma once
#include <string>
#include <variant>
#include <vector>

#include "model/processes/process.h"

namespace memscope {

// Changes of the process tree between two ticks. `target` is the innermost watched cgroup of the process after the
// event, kNoCgroup if there is none. Times are nanoseconds on the boot clock.
struct Forked {
    std::uint64_t time_ns = 0;
    ProcessId id{};
    pid_t parent = 0;
    CgroupId target = kNoCgroup;
    std::string comm{};
};
struct Execed {
    std::uint64_t time_ns = 0;
    ProcessId id{};
    CgroupId target = kNoCgroup;
    std::string comm{};
    std::vector<std::string> argv{};  // truncated: see MS_ARGV_BYTES
};
struct Exited {
    std::uint64_t time_ns = 0;
    ProcessId id{};
    CgroupId target = kNoCgroup;
    std::string comm{};
    Faults faults{};
    int exit_code = 0;  // as wait() returns it
    bool forked_without_exec = false;
    std::optional<Mappings> mappings{};
};
struct Moved {
    std::uint64_t time_ns = 0;
    ProcessId id{};
    pid_t parent = 0;
    CgroupId target = kNoCgroup;
    std::string comm{};
};
struct CgroupsChanged {};  // a cgroup was created, removed or renamed
struct LibraryMapped {     // the process has mapped a file named like the CUDA driver or like PyTorch
    std::uint64_t time_ns = 0;
    ProcessId id{};
};

using TreeEvent = std::variant<Forked, Execed, Exited, Moved, CgroupsChanged, LibraryMapped>;

}  // namespace memscope
