#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "model/deaths/death.h"
#include "model/gpu/gpu.h"
#include "model/processes/process.h"

namespace memscope {

// Times are nanoseconds on the boot clock. Names can contain any bytes.
struct SentSignal {
    std::uint64_t time_ns = 0;
    int number = 0;
    NamedProcess sender{};               // the process that was running when the signal was sent
    CgroupId sender_target = kNoCgroup;  // innermost watched cgroup of the sender
    bool by_kernel = false;              // sent by the kernel itself, not by the running process
    bool at_exit = false;                // the sender was exiting
    bool with_victim = false;            // sent by the OOM killer, because the process shares the memory of its victim
};

// A cgroup with the name that the kernel has for it.
struct NamedCgroup {
    CgroupId id = kNoCgroup;
    std::string name{};  // last component of its path, possibly truncated
};

struct OomMark {
    std::uint64_t time_ns = 0;  // 0: this process was not the victim itself; a process that shares its memory was
    bool chosen = true;         // false: no mark was seen before the exit, so the fields are the state at the signal
    pid_t thread = 0;           // the thread that the OOM killer named
    NamedProcess trigger{};
    NamedCgroup cgroup{};  // of the victim
    NamedCgroup owner{};   // owner of the exhausted limit; kNoCgroup: none was exhausted
    Bytes limit{};
    Bytes usage{};
    Bytes anon{};  // of the victim
    bool whole_cgroup = false;
};

// The file system of a file, as the kernel identifies it.
struct FileSystemId {
    std::uint64_t magic = 0;
    std::uint32_t device = 0;  // 12 bits major number, 20 bits minor number
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

// A refused allocation of the CUDA driver.
struct CudaFailure {
    std::uint64_t time_ns = 0;
    Bytes size{};
    std::optional<GpuUuid> device{};  // as the driver reported it to the process; none: not known
    Bytes reserved{};                 // held by the process on the device at the failure, from its calls
    bool of_host = false;             // the request was for pinned memory
};

// A storage of a host tensor that PyTorch could not allocate.
struct HostTensorFailure {
    std::uint64_t time_ns = 0;
    Bytes size{};
};

// The evidence about a process that was collected until its exit. The cause of death is decided later.
struct DeathEvidence {
    std::uint64_t time_ns = 0;  // of the exit
    ProcessId id{};
    CgroupId target = kNoCgroup;  // innermost watched cgroup of the process
    pid_t parent = 0;
    std::string comm{};
    int exit_code = 0;                          // as wait() returns it
    std::optional<SentSignal> kill{};           // the first SIGKILL
    std::optional<SentSignal> other{};          // the last other fatal signal
    std::optional<OomMark> oom{};               // mark of the OOM killer
    std::optional<FaultedFile> bus{};           // of the last SIGBUS
    std::optional<LastFailure> failure{};       // the last failed allocation
    std::optional<CudaFailure> cuda_failure{};  // the last failed allocation of a GPU
    std::optional<HostTensorFailure> host_failure{};
};

// An OOM kill as the kernel log describes it, if the log can be read.
struct LoggedOomKill {
    pid_t thread = 0;  // the victim, or one of its threads
    OomConstraint constraint = OomConstraint::unknown;
    std::string limit_owner{};    // path of the cgroup; empty: none, or ambiguous
    std::string victim_cgroup{};  // path; empty: none, or ambiguous
};

}  // namespace memscope
