#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "model/processes/process.h"

namespace memscope {

// Growth by call stack. The innermost frame is first.

struct PythonFrame {
    std::string function{};  // qualified name if the interpreter has it; any bytes
    std::string file{};
    int line = 0;  // 0: not known
    auto operator<=>(const PythonFrame&) const = default;
};

// The file of a frame that stands for frames in the middle of a deep stack, which were left out.
inline constexpr std::string_view kLeftOutFile = "<left out>";

struct NativeFrame {
    std::string symbol{};      // demangled; empty: the file has no symbol for the address
    std::string module{};      // path in the process; "[vdso]", "[anon]"; empty: no longer mapped
    std::uint64_t offset = 0;  // address as in the ELF file; without readable headers: file offset
    auto operator<=>(const NativeFrame&) const = default;
};

// All growth of one role and rank at one stack. Stacks with the same names are one site, even in several processes.
struct GrowthSite {
    std::int64_t bytes = 0;  // still held; at most the bytes that the processes have gained
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

// The planes, in the order in which they are shown.
enum class PlaneKind : std::uint8_t { resident, mapped, tensors_host, gpu, pinned };
inline constexpr std::size_t kPlanes = 5;
std::string_view name_of(PlaneKind plane);

// The time span of a growth report.
struct GrowthSpan {
    std::optional<Seconds> since{};  // age of the earlier snapshot that was subtracted; none: since watching began
    bool after_warmup = false;       // that snapshot is of the end of the warm-up
    std::optional<double> peak{};    // the growth of this time, when the target held most; none: of now
};

// The line that keeps the growth, by a plane that knows owners.
struct GrowthOwner {
    PlaneKind plane = PlaneKind::mapped;
    RoleKey role{};
    std::string place{};     // "validate (train.py:60)", or a native function; any bytes
    std::int64_t bytes = 0;  // that it keeps
    double share = 0;        // of what grew, 0 to 1
};

std::string_view name_of(ResidentMethod method);  // "live", "first_touch", "none"

struct Growth {
    GrowthPlane resident{};      // anonymous memory, by the stack that touched it first
    GrowthPlane mapped{};        // private writable anonymous and shared memory, mapped and not unmapped since
    GrowthPlane tensors_host{};  // storages of PyTorch's host tensors, allocated and not freed since
    GrowthPlane gpu{};           // GPU memory, allocated from the CUDA driver and not freed since
    GrowthPlane pinned{};        // host memory that is still pinned by the CUDA driver
    ResidentMethod resident_method = ResidentMethod::live;
    // Age of the oldest check of the processes' sampled pages, which finds pages that no longer exist. None: there is
    // no sample, or a process was never checked.
    std::optional<Seconds> pages_checked{};
    // Mapped memory that is not counted as growth.
    std::int64_t file_mapped_bytes = 0;
    std::int64_t reserved_bytes = 0;  // without access: PROT_NONE
    HostTensorRecording host_tensors{};
    GrowthSpan span{};
    std::optional<GrowthOwner> owner{};  // none: memscope does not know which line keeps the memory
    std::string sentence{};              // the sentence that outputs show first; empty: there is nothing to say

    const GrowthPlane& plane(PlaneKind kind) const;
    GrowthPlane& plane(PlaneKind kind);
};

// Growth of one own line of a role, to be followed over time.
struct LineGrowth {
    RoleKey role{};
    std::string place{};     // "validate (train.py:35)", or a library if no Python code was running; any bytes
    std::int64_t bytes = 0;  // resident memory that was first touched there
    std::int64_t kept = 0;   // memory that the line keeps, by the planes that know owners
};

}  // namespace memscope
