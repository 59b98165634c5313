#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "model/processes/process.h"

namespace memscope {

// Where memory grew, by call stack. Frames stand innermost first.

struct PythonFrame {
    std::string function{};  // qualified where the interpreter has it; any bytes
    std::string file{};
    int line = 0;  // 0: not known
    auto operator<=>(const PythonFrame&) const = default;
};

struct NativeFrame {
    std::string symbol{};      // demangled; empty: the file has none for it
    std::string module{};      // path as the process has it; "[vdso]", "[anon]"; empty: not mapped any more
    std::uint64_t offset = 0;  // the address as the file's own headers count it
    auto operator<=>(const NativeFrame&) const = default;
};

// All growth of one role and rank at one stack. Stacks with the same names are one site, in however many processes.
struct GrowthSite {
    std::int64_t bytes = 0;         // net: what was given back there has been taken off
    std::int64_t living_bytes = 0;  // that part of it that processes hold that still live
    RoleKey role{};
    std::vector<pid_t> pids{};  // sorted
    std::vector<PythonFrame> python{};
    std::vector<NativeFrame> native{};
};

// What is not at any stack, and why: "external" (reclaim, other tasks), "exited", "other" (too many stacks), ...
struct UnattributedGrowth {
    std::string reason{};
    std::int64_t bytes = 0;
};

// One plane: all its sites and what could not be booked to one.
struct GrowthPlane {
    std::vector<GrowthSite> sites{};  // largest first
    std::vector<UnattributedGrowth> unattributed{};
};

struct Growth {
    GrowthPlane resident{};  // where anonymous RSS rose: first touched there
    GrowthPlane mapped{};    // private writable anonymous and shared memory mapped there and not unmapped since
    GrowthPlane gpu{};       // memory of GPUs taken there from the CUDA driver and not given back since
    GrowthPlane pinned{};    // host memory pinned there through the CUDA driver, and still
    // Mapped as well, but never growth.
    std::int64_t file_mapped_bytes = 0;
    std::int64_t reserved_bytes = 0;  // without access: PROT_NONE
};

// All that has grown at one line of a role, for those who follow it over time.
struct LineGrowth {
    RoleKey role{};
    std::string place{};  // "validate (train.py:35)", or a library where no Python was running; any bytes
    std::int64_t bytes = 0;
};

}  // namespace memscope
