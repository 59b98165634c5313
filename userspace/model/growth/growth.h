#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "model/processes/process.h"

namespace memscope {

// Growth by call stack. The innermost frame is first.

struct PythonFrame {
    std::string function{};  // qualified name if the interpreter has it; any bytes
    std::string file{};
    int line = 0;  // 0: not known
    auto operator<=>(const PythonFrame&) const = default;
};

struct NativeFrame {
    std::string symbol{};      // demangled; empty: the file has no symbol for the address
    std::string module{};      // path in the process; "[vdso]", "[anon]"; empty: no longer mapped
    std::uint64_t offset = 0;  // address in terms of the headers of the file
    auto operator<=>(const NativeFrame&) const = default;
};

// All growth of one role and rank at one stack. Stacks with the same names are one site, even in several processes.
struct GrowthSite {
    std::int64_t bytes = 0;         // net: memory that was freed is subtracted
    std::int64_t living_bytes = 0;  // part of `bytes` that living processes hold
    RoleKey role{};
    std::vector<pid_t> pids{};  // sorted
    std::vector<PythonFrame> python{};
    std::vector<NativeFrame> native{};
};

// Growth without a stack, by reason: "external" (reclaim, other tasks), "exited", "other" (too many stacks), ...
struct UnattributedGrowth {
    std::string reason{};
    std::int64_t bytes = 0;
};

// One kind of growth: all its sites, and the growth that could not be attributed to a site.
struct GrowthPlane {
    std::vector<GrowthSite> sites{};  // largest first
    std::vector<UnattributedGrowth> unattributed{};
};

struct Growth {
    GrowthPlane resident{};  // anonymous memory, by the stack that touched it first
    GrowthPlane mapped{};    // private writable anonymous and shared memory, mapped and not unmapped since
    GrowthPlane gpu{};       // GPU memory, allocated from the CUDA driver and not freed since
    GrowthPlane pinned{};    // host memory that is still pinned by the CUDA driver
    // Mapped as well, but not counted as growth.
    std::int64_t file_mapped_bytes = 0;
    std::int64_t reserved_bytes = 0;  // without access: PROT_NONE
};

// Growth of one own line of a role, to be followed over time.
struct LineGrowth {
    RoleKey role{};
    std::string place{};  // "validate (train.py:35)", or a library if no Python code was running; any bytes
    std::int64_t bytes = 0;
};

}  // namespace memscope
