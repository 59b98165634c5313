#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <tuple>
#include <vector>

#include "base/units.h"
#include "model/growth/mappings.h"

namespace memscope {

// A cgroup is identified by its kernel id (the inode of its directory), never by its path, because a path can be
// recreated.
enum class CgroupId : std::uint64_t {};
constexpr CgroupId kNoCgroup{};

// One run of the job in a target, from its start to its end. No two runs of a watcher have the same number, and a later
// run has a larger one.
enum class RunId : std::uint64_t {};
constexpr RunId kNoRun{};

// A pid can be reused, but not together with the start time (nanoseconds on the boot clock).
struct ProcessId {
    pid_t pid = 0;
    std::uint64_t start_ns = 0;
    auto operator<=>(const ProcessId&) const = default;
    auto fields() { return std::tie(pid, start_ns); }  // packed without the padding between them
};

// A process from its start or exec to its next exec. Each BPF object that follows calls of processes numbers the
// instances itself.
struct ProcessInstance {
    ProcessId id{};
    std::uint64_t instance = 0;
    auto operator<=>(const ProcessInstance&) const = default;
};

enum class Role { launcher, trainer, dataloader_worker, compile_worker, helper, other };
constexpr Role kRoles[] = {Role::launcher,       Role::trainer, Role::dataloader_worker,
                           Role::compile_worker, Role::helper,  Role::other};
std::string_view name_of(Role role);
std::optional<Role> role_named(std::string_view name);

// The key of a series. The rank is that of a distributed job (RANK, LOCAL_RANK, SLURM_PROCID).
struct RoleKey {
    Role role = Role::other;
    std::optional<int> rank{};
    auto operator<=>(const RoleKey&) const = default;
};

struct Faults {
    std::uint64_t minor = 0;
    std::uint64_t major = 0;
    auto operator<=>(const Faults&) const = default;
};

// Memory belongs to an address space, which several processes can share (vfork).
struct AddressSpace {
    Bytes anon{};
    Bytes file{};
    Bytes shmem{};
    Bytes swap{};
    Bytes virtual_size{};
    Bytes page_tables{};
};

// One process as a scan of the kernel shows it.
struct TaskSample {
    std::uint64_t time_ns = 0;  // time of the visit, boot clock
    ProcessId id{};
    pid_t parent = 0;
    CgroupId target = kNoCgroup;           // innermost watched cgroup of the process
    std::string comm{};                    // any bytes
    std::optional<AddressSpace> memory{};  // none: it uses that of another process (vfork), or is exiting
    std::uint32_t threads = 0;
    Faults faults{};              // of all threads, exited ones included
    bool faults_partial = false;  // a lower bound: not all threads were visited
    bool forked_without_exec = false;
    std::uint64_t mount_namespace = 0;  // inode
    CgroupId cgroup = kNoCgroup;        // cgroup of the process in the hierarchy of the memory controller
};

// A process in a scan. If `mappings_activity` of a process is unchanged, its mappings are unchanged.
struct ScannedTask {
    TaskSample task{};
    const Mappings* mappings = nullptr;  // owned by the scanner, valid until the next scan; null: not followed
    std::uint64_t mappings_activity = 0;
};

// A process of the machine, as any user can see it in /proc, before it is watched.
struct ListedProcess {
    ProcessId id{};
    pid_t parent = 0;
    std::string comm{};               // any bytes
    std::vector<std::string> argv{};  // empty: not known
    bool forked_without_exec = false;
    Bytes memory{};        // anonymous memory, shared memory and swap; pages that processes share count in each of them
    std::string cgroup{};  // in the hierarchy of the memory controller, without slashes around it; "" is the root
};

}  // namespace memscope
