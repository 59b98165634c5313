#pragma once
#include <optional>
#include <set>
#include <string>

#include "base/files.h"

namespace memscope {

// What this kernel offers, asked of the kernel itself. Unknown (nullopt, not in the set) is never taken for yes.
struct KernelFacts {
    bool btf = false;                              // types of the running kernel can be read
    std::set<std::string> tracepoints{};           // those of kTracepoints that BTF programs can attach to
    std::optional<bool> exit_tells_last_thread{};  // sched_process_exit has `group_dead`
    std::optional<bool> rss_tells_count{};         // rss_stat has the count (up to 6.1)
    std::optional<bool> victim_is_task{};          // mark_victim has the task, not only its number
    bool task_iterator = false;
    bool loop_helper = false;                     // bpf_loop() (5.17 and later)
    bool find_vma_helper = false;                 // bpf_find_vma() (5.17 and later)
    bool attach_cookie = false;                   // a program knows at which of its places it runs (5.15 and later)
    bool many_user_probes = false;                // a program at many places of a file at once (6.6 and later)
    bool allocates_at_probes = false;             // programs at user probes may, without a warning (6.1 and later)
    std::optional<bool> atomic_exchange{};        // programs may exchange a value atomically (5.12 and later)
    bool task_loop = false;                       // programs can loop over the processes themselves (6.7 and later)
    bool memory_subsystem = false;                // compiled with the cgroup memory controller
    std::optional<bool> percpu_rss{};             // resident pages are per-CPU counters (6.2 and later)
    std::optional<std::string> lockdown{};        // "none", "integrity", "confidentiality"
    std::optional<bool> initial_pid_namespace{};  // the task iterator sees only the namespace of who opens it
    std::string release{};                        // for people; nothing is decided by it
    std::string architecture{};
};

constexpr const char* kTracepoints[] = {"sched_process_fork",
                                        "sched_process_exec",
                                        "sched_process_exit",
                                        "cgroup_attach_task",
                                        "cgroup_mkdir",
                                        "cgroup_rmdir",
                                        "cgroup_rename",
                                        "sys_exit",
                                        "sys_enter",
                                        "rss_stat",
                                        "mm_vmscan_memcg_reclaim_begin",
                                        "mm_vmscan_memcg_reclaim_end",
                                        "mm_vmscan_direct_reclaim_begin",
                                        "mm_vmscan_direct_reclaim_end",
                                        "signal_generate",
                                        "mark_victim"};

KernelFacts gather_kernel_facts(const SysRoot& root);

// What a process may do, from its effective capabilities.
struct Privileges {
    bool bpf = false;       // CAP_BPF, or CAP_SYS_ADMIN
    bool perfmon = false;   // CAP_PERFMON, or CAP_SYS_ADMIN: BPF programs that read kernel memory
    bool read_all = false;  // CAP_SYS_PTRACE: /proc/PID/environ of others
};
Privileges parse_privileges(std::string_view proc_self_status);

}  // namespace memscope
