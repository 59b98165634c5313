#pragma once
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "model/gpu/gpu.h"
#include "model/processes/process.h"

namespace memscope {

// Why a process died. Metrics and JSON export the names; docs/deaths.md explains them.
enum class DeathCause { oom_kill, sigkill, sigbus, signal, alloc_failed, cuda_oom };
inline constexpr DeathCause kDeathCauses[] = {DeathCause::oom_kill, DeathCause::sigkill,      DeathCause::sigbus,
                                              DeathCause::signal,   DeathCause::alloc_failed, DeathCause::cuda_oom};
std::string_view name_of(DeathCause cause);

// Origin of the signal. tree: a process of the same tree, or any process once the root of the tree was exiting.
// outside: another process. kernel: the kernel itself. none: no signal was sent, or its sender is not known.
enum class DeathSender { tree, outside, kernel, none };
inline constexpr DeathSender kDeathSenders[] = {DeathSender::tree, DeathSender::outside, DeathSender::kernel,
                                                DeathSender::none};
std::string_view name_of(DeathSender sender);

// The kind of limit that caused an OOM kill.
enum class OomConstraint { cgroup, host, cpuset, mempolicy, unknown };
inline constexpr OomConstraint kOomConstraints[] = {OomConstraint::cgroup, OomConstraint::host, OomConstraint::cpuset,
                                                    OomConstraint::mempolicy, OomConstraint::unknown};
std::string_view name_of(OomConstraint constraint);

// A process as users know it: pid and name.
struct NamedProcess {
    pid_t pid = 0;
    std::string comm{};  // any bytes
};

// Facts that only an OOM kill has.
struct OomKill {
    OomConstraint constraint = OomConstraint::unknown;
    std::string limit_owner{};              // "own", the path of another cgroup, "host"; empty: unknown
    std::optional<Bytes> limit{};           // of that owner
    std::optional<Bytes> usage{};           // below that limit when the kernel chose its victim
    std::string victim_cgroup{};            // path; empty: unknown
    std::optional<NamedProcess> trigger{};  // the process that asked for memory; usually not the victim
    bool whole_cgroup = false;              // memory.oom.group: all processes of the cgroup were killed
    bool marked = true;                     // false: killed because it shared the address space of the victim
};

// A file for which the kernel had no memory or no data.
struct FullFile {
    std::string name{};         // last component of its path, any bytes; empty: unknown
    std::string file_system{};  // "tmpfs", "hugetlbfs"; else its magic number in hexadecimal
    std::string mount{};        // mount point of the file system; empty: unknown
};

// The call that failed shortly before the death. `call` and `reason` are labels of memscope_memory_failures_total.
struct FailedAllocation {
    std::string_view call{};  // empty: only PyTorch has reported the failure
    std::string_view reason{};
    std::optional<Bytes> size{};     // requested size
    Seconds before_exit{};           // time between the failure and the exit
    std::optional<FullFile> file{};  // only for fallocate
    std::optional<Bytes> tensor{};   // size of the host tensor that PyTorch could not allocate
};

// The allocation that the CUDA driver refused shortly before the death, and the processes that held the memory of the
// device.
struct GpuShortage {
    struct Holder {
        NamedProcess process{};
        std::optional<Bytes> used{};
    };

    GpuId gpu{};                      // empty: not known
    std::optional<unsigned> index{};  // index of the GPU on this host
    Bytes size{};                     // requested size
    bool of_host = false;             // the request was for pinned host memory
    Seconds before_exit{};            // time between the failure and the exit
    std::optional<Bytes> free{};      // of the device
    std::optional<Bytes> total{};     // of the device
    // Time from the failed call to the moment when the driver reported `free` and `holders`. Negative: before that
    // call.
    std::optional<Seconds> read_after{};
    std::optional<Bytes> reserved{};  // by the process itself on the device at the failed call, from its calls
    std::vector<Holder> holders{};    // of the device, largest first, other jobs included

    bool asked_for_more_than_all() const { return !of_host && total && size > *total; }
};

// One process that was killed or failed for lack of memory, with the cause. It is decided at the exit of the process
// from all evidence.
struct Death {
    double time = 0;  // seconds since 1970
    ProcessId id{};
    pid_t parent = 0;
    std::string comm{};                            // any bytes
    std::shared_ptr<const std::string> command{};  // like Process::command; null: not known
    RoleKey role{};
    RunId run = kNoRun;  // the run of the job to which the process belonged
    DeathCause cause = DeathCause::signal;
    std::optional<int> signal{};       // the signal that killed it
    std::optional<int> exit_status{};  // or its exit status
    DeathSender sender = DeathSender::none;
    std::optional<NamedProcess> sent_by{};  // the process that sent the signal, if one did
    std::string sent_for{};  // the process manager that the sender belongs to: "kubelet", "Slurm"; else empty
    bool news = true;        // false: the tree shut itself down; counted, but not reported
    std::optional<AddressSpace> memory{};          // at the last tick
    std::optional<Bytes> rss_anon{};               // when it was chosen as a victim, else at the last tick
    std::optional<OomKill> oom{};                  // with oom_kill
    std::optional<FullFile> mapping{};             // with sigbus
    std::optional<FailedAllocation> allocation{};  // with alloc_failed
    std::optional<GpuShortage> gpu{};              // with cuda_oom
    std::string explanation{};                     // one sentence for users, printable
};

// Number of deaths of a target since it is watched.
struct DeathTally {
    std::array<std::array<std::uint64_t, std::size(kDeathSenders)>, std::size(kDeathCauses)> deaths{};
    std::array<std::uint64_t, std::size(kOomConstraints)> oom_kills{};
    std::array<std::optional<double>, std::size(kDeathCauses)> last{};  // seconds since 1970

    bool operator==(const DeathTally&) const = default;
    void add(const Death& death);
    std::uint64_t of(DeathCause cause, DeathSender sender) const;
    std::uint64_t of(DeathCause cause) const;
    std::uint64_t of(OomConstraint constraint) const;
};

}  // namespace memscope
