#pragma once
#include <cstdint>
#include <optional>
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
    std::int64_t bytes = 0;  // still held; at most what the processes have gained
    RoleKey role{};
    std::vector<pid_t> pids{};  // sorted
    std::vector<PythonFrame> python{};
    std::vector<NativeFrame> native{};
};

// Growth without a stack, by reason: "no_address", "other" (too many stacks), ... Negative if the processes have freed
// memory that they had before ("before").
struct UnattributedGrowth {
    std::string reason{};
    std::int64_t bytes = 0;
};

// One kind of growth: all its sites, and the growth that could not be attributed to a site.
struct GrowthPlane {
    std::vector<GrowthSite> sites{};  // largest first
    std::vector<UnattributedGrowth> unattributed{};
};

// How the resident plane was measured.
enum class ResidentMethod : std::uint8_t {
    live,         // sampled pages that are still there
    first_touch,  // net changes at the stacks that touched or freed: frees are not matched to touches
    none,         // not measured, because mappings are not followed (--no-maps)
};

// How the storages of PyTorch's host tensors are recorded.
struct HostTensorRecording {
    // When the recording began, in seconds since 1970. Storages that were allocated earlier are not known. nullopt: no
    // process has mapped PyTorch, or the recording is paused.
    std::optional<double> since_seconds{};
    // Set during a pause: the number of storages per second that made the recording too expensive.
    std::optional<double> paused_at_rate{};
};

struct Growth {
    GrowthPlane resident{};      // anonymous memory, by the stack that touched it first
    GrowthPlane mapped{};        // private writable anonymous and shared memory, mapped and not unmapped since
    GrowthPlane tensors_host{};  // storages of PyTorch's host tensors, allocated and not freed since
    GrowthPlane gpu{};           // GPU memory, allocated from the CUDA driver and not freed since
    GrowthPlane pinned{};        // host memory that is still pinned by the CUDA driver
    ResidentMethod resident_method = ResidentMethod::live;
    // Mapped as well, but not counted as growth.
    std::int64_t file_mapped_bytes = 0;
    std::int64_t reserved_bytes = 0;  // without access: PROT_NONE
    HostTensorRecording host_tensors{};
};

// Growth of one own line of a role, to be followed over time.
struct LineGrowth {
    RoleKey role{};
    std::string place{};  // "validate (train.py:35)", or a library if no Python code was running; any bytes
    std::int64_t bytes = 0;
};

}  // namespace memscope
