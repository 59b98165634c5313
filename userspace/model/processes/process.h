#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "base/units.h"
#include "model/growth/mappings.h"

namespace memscope {

// A cgroup is its kernel id (the inode of its directory), never its path: a path can be recreated.
enum class CgroupId : std::uint64_t {};
constexpr CgroupId kNoCgroup{};

// One run of the job in a target, from its start to its end. No two runs of a watcher have the same number, and a later
// run has a larger one.
enum class RunId : std::uint64_t {};
constexpr RunId kNoRun{};

// A pid alone is reused; with the start time it is not. Nanoseconds on the boot clock.
struct ProcessId {
    pid_t pid = 0;
    std::uint64_t start_ns = 0;
    auto operator<=>(const ProcessId&) const = default;
};

enum class Role { launcher, trainer, dataloader_worker, compile_worker, helper, other };
constexpr Role kRoles[] = {Role::launcher,       Role::trainer, Role::dataloader_worker,
                           Role::compile_worker, Role::helper,  Role::other};
std::string_view name_of(Role role);
std::optional<Role> role_named(std::string_view name);

// What series are kept by. The rank is that of a distributed job (RANK, LOCAL_RANK, SLURM_PROCID).
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

// Memory belongs to an address space, not to a pid.
struct AddressSpace {
    Bytes anon{};
    Bytes file{};
    Bytes shmem{};
    Bytes swap{};
    Bytes virtual_size{};
    Bytes page_tables{};
};

// One process as the kernel has it at a tick.
struct TaskSample {
    std::uint64_t time_ns = 0;  // of the visit, boot clock
    ProcessId id{};
    pid_t parent = 0;
    CgroupId target = kNoCgroup;  // the innermost watched cgroup around it
    std::string comm{};           // any bytes
    std::optional<AddressSpace>
        memory{};  // none: it runs in another process's (vfork), or has given its own up (exiting)
    std::uint32_t threads = 0;
    Faults faults{};              // of all threads, gone ones included
    bool faults_partial = false;  // at least those: not all threads were visited
    bool forked_without_exec = false;
    std::uint64_t mount_namespace = 0;  // inode
    CgroupId cgroup = kNoCgroup;        // its own, in the hierarchy of the memory controller
};

// A process in a scan. The same activity of the same process means the same mappings.
struct ScannedTask {
    TaskSample task{};
    const Mappings* mappings = nullptr;  // kept by who scanned, until the next scan; null: not followed
    std::uint64_t mappings_activity = 0;
};

}  // namespace memscope
