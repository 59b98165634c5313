#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "model/deaths/death.h"
#include "model/gpu/gpu_account.h"
#include "model/processes/process.h"

namespace memscope {

// What was collected of a process until its end. Nothing of it is decided yet; names can hold any bytes. Times are
// nanoseconds on the boot clock.
struct SentSignal {
    std::uint64_t time_ns = 0;
    int number = 0;
    NamedProcess sender{};               // who was running then
    CgroupId sender_target = kNoCgroup;  // the innermost watched cgroup around it
    bool by_kernel = false;              // of its own accord, not in the name of who was running
    bool at_exit = false;                // who was running was ending itself
    bool with_victim = false;            // by the OOM killer, because it shares the memory of its victim
};

// A cgroup as the kernel names it.
struct NamedCgroup {
    CgroupId id = kNoCgroup;
    std::string name{};  // the last part of its path, as far as it was kept
};

struct OomMark {
    std::uint64_t time_ns = 0;  // 0: only whose memory it shares was chosen
    bool chosen = true;         // false: it had ended when the mark came, if one came; this is how it was at the signal
    pid_t thread = 0;           // that was named
    NamedProcess trigger{};
    NamedCgroup cgroup{};  // the victim's own
    NamedCgroup owner{};   // of the limit; kNoCgroup: none around it was full
    Bytes limit{};
    Bytes usage{};
    Bytes anon{};  // of the victim
    bool whole_cgroup = false;
};

// Where a file lies, as the kernel knows it.
struct FileSystemId {
    std::uint64_t magic = 0;
    std::uint32_t device = 0;  // 12 bits of major, 20 of minor number
};

struct FaultedFile {
    FileSystemId place{};
    std::string name{};
};

struct LastFailure {
    std::uint64_t time_ns = 0;
    std::size_t call = 0;    // index of failed_call()
    std::size_t reason = 0;  // index of failure_reason()
    Bytes size{};
    std::optional<FileSystemId> place{};
};

// The same of the CUDA driver.
struct GpuFailure {
    std::uint64_t time_ns = 0;
    Bytes size{};
    std::optional<GpuUuid> device{};  // as the process was told; none: not known
    Bytes reserved{};                 // by calls of the process on that device, when this one failed
    bool of_host = false;             // it was to be pinned memory
};

struct LastWords {
    std::uint64_t time_ns = 0;  // of its end
    ProcessId id{};
    CgroupId target = kNoCgroup;  // the innermost watched cgroup around it
    pid_t parent = 0;
    std::string comm{};
    int exit_code = 0;                        // as wait() has it
    std::optional<SentSignal> kill{};         // the first SIGKILL
    std::optional<SentSignal> other{};        // the last of the other signals
    std::optional<OomMark> oom{};             // the OOM killer's choice
    std::optional<FaultedFile> bus{};         // of the last SIGBUS
    std::optional<LastFailure> failure{};     // the last allocation that failed
    std::optional<GpuFailure> gpu_failure{};  // and the last of a GPU
};

// What the kernel log says of an OOM kill, where it could be read.
struct LoggedOomKill {
    pid_t thread = 0;  // the victim, or one of its threads
    OomConstraint constraint = OomConstraint::unknown;
    std::string limit_owner{};    // path of the cgroup; empty: none, or ambiguous
    std::string victim_cgroup{};  // the same
};

}  // namespace memscope
