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

// CONTRACT: deaths. docs/deaths.md says what each word means.
enum class DeathCause { oom_kill, sigkill, sigbus, signal, alloc_failed, cuda_oom };
inline constexpr DeathCause kDeathCauses[] = {DeathCause::oom_kill, DeathCause::sigkill,      DeathCause::sigbus,
                                              DeathCause::signal,   DeathCause::alloc_failed, DeathCause::cuda_oom};
std::string_view name_of(DeathCause cause);

// Who sent the signal: somebody of the tree itself (or anybody, once the tree's root was ending), somebody else, the
// kernel of its own accord. None: nobody did, or nobody knows.
enum class DeathSender { tree, outside, kernel, none };
inline constexpr DeathSender kDeathSenders[] = {DeathSender::tree, DeathSender::outside, DeathSender::kernel,
                                                DeathSender::none};
std::string_view name_of(DeathSender sender);

// Which limit an OOM kill obeyed.
enum class OomConstraint { cgroup, host, cpuset, mempolicy, unknown };
inline constexpr OomConstraint kOomConstraints[] = {OomConstraint::cgroup, OomConstraint::host, OomConstraint::cpuset,
                                                    OomConstraint::mempolicy, OomConstraint::unknown};
std::string_view name_of(OomConstraint constraint);

// A process by what people know it by.
struct NamedProcess {
    pid_t pid = 0;
    std::string comm{};  // any bytes
};

// What only an OOM kill has.
struct OomKill {
    OomConstraint constraint = OomConstraint::unknown;
    std::string limit_owner{};              // "own", the path of another cgroup, "host"; empty: unknown
    std::optional<Bytes> limit{};           // of that owner
    std::optional<Bytes> usage{};           // and what was held below it when the kernel chose its victim
    std::string victim_cgroup{};            // its own, by path; empty: unknown
    std::optional<NamedProcess> trigger{};  // who asked for memory then: it is not the victim, unless by chance
    bool whole_cgroup = false;              // memory.oom.group: everybody in the cgroup was killed with it
    bool marked = true;                     // false: killed along with a victim whose address space it shared
};

// A file that memory could not be had of.
struct FullFile {
    std::string name{};         // the last part of its path, any bytes; empty: unknown
    std::string file_system{};  // "tmpfs", "hugetlbfs"; else its magic number in hexadecimal
    std::string mount{};        // where that is mounted; empty: unknown
};

// The call that failed shortly before the end. `call` and `reason` are words of memscope_memory_failures_total.
struct FailedAllocation {
    std::string_view call{};
    std::string_view reason{};
    std::optional<Bytes> size{};     // what was asked for
    Seconds before_exit{};           // how long before the end
    std::optional<FullFile> file{};  // of fallocate
};

// What the CUDA driver refused shortly before the end, and which processes held the memory of that device.
struct GpuShortage {
    struct Holder {
        NamedProcess process{};
        std::optional<Bytes> used{};
    };

    GpuId gpu{};                      // empty: nobody can tell which
    std::optional<unsigned> index{};  // of it on this machine
    Bytes size{};                     // what was asked for
    bool of_host = false;             // it was to be pinned memory of the host
    Seconds before_exit{};            // how long before the end
    std::optional<Bytes> free{};      // of the device
    std::optional<Bytes> total{};     // the same
    // When the driver told `free` and `holders`, counted from the failed call. Negative: before that call.
    std::optional<Seconds> read_after{};
    std::optional<Bytes> reserved{};  // there by the process itself, by its own calls, when that call failed
    std::vector<Holder> holders{};    // of the device, most first; those of other jobs too

    bool asked_for_more_than_all() const { return !of_host && total && size > *total; }
};

// One process that did not just exit, and why, decided at its end from all that was collected.
struct Death {
    double time = 0;  // seconds since 1970
    ProcessId id{};
    pid_t parent = 0;
    std::string comm{};                            // any bytes
    std::shared_ptr<const std::string> command{};  // as in Process; null: not known
    RoleKey role{};
    RunId run = kNoRun;  // of the job in that target, which the process belonged to
    DeathCause cause = DeathCause::signal;
    std::optional<int> signal{};       // that ended it
    std::optional<int> exit_status{};  // or the status it chose
    DeathSender sender = DeathSender::none;
    std::optional<NamedProcess> sent_by{};  // a process, where one sent the signal
    std::string sent_for{};                 // on whose behalf, where the name tells: "kubelet", "Slurm"; else empty
    bool news = true;                       // false: teardown of a tree by itself, counted and not announced
    std::optional<AddressSpace> memory{};   // at its last reading
    std::optional<Bytes> rss_anon{};        // when it was chosen as a victim, else at its last reading
    std::optional<OomKill> oom{};           // with oom_kill
    std::optional<FullFile> mapping{};      // with sigbus
    std::optional<FailedAllocation> allocation{};  // with alloc_failed
    std::optional<GpuShortage> gpu{};              // with cuda_oom
    std::string explanation{};                     // one sentence for people, without escapes
};

// All deaths of a target since it is watched.
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
