#pragma once
#include <optional>
#include <set>
#include <string>

#include "base/files.h"

namespace memscope {

// Features of the running kernel, detected and not derived from its version. Unknown (nullopt, not in the set) never
// counts as yes.
struct KernelFacts {
    bool btf = false;                              // the BTF of the running kernel can be read
    std::set<std::string> tracepoints{};           // tracepoints of kTracepoints to which BTF programs can attach
    std::optional<bool> exit_passes_group_dead{};  // sched_process_exit passes `group_dead`
    std::optional<bool> rss_stat_passes_count{};   // rss_stat passes the count (up to 6.1)
    std::optional<bool> victim_is_task{};          // mark_victim passes the task, not only its pid
    bool task_iterator = false;
    bool loop_helper = false;                         // bpf_loop() (5.17 and later)
    bool find_vma_helper = false;                     // bpf_find_vma() (5.17 and later)
    bool attach_cookie = false;                       // a program can distinguish its attach points (5.15 and later)
    bool many_user_probes = false;                    // one link for many user probes of a file (6.6 and later)
    bool allocates_at_probes = false;                 // map entries may be allocated at user probes (6.1 and later)
    std::optional<bool> atomic_exchange{};            // BPF programs can exchange a value atomically (5.12 and later)
    bool task_loop = false;                           // BPF programs can iterate over processes (6.7 and later)
    bool fault_addresses = false;                     // BPF programs find the address of a page fault on the stack
    bool fault_events = false;                        // perf events of page faults can be opened by this process
    bool fault_events_with_few_capabilities = false;  // also with no other capabilities than memscope asks for
    bool memory_subsystem = false;                    // compiled with the cgroup memory controller
    std::optional<bool> percpu_rss{};                 // resident pages are per-CPU counters (6.2 and later)
    std::optional<std::string> lockdown{};            // "none", "integrity", "confidentiality"
    std::optional<bool> initial_pid_namespace{};      // the task iterator sees only the PID namespace of its opener
    std::string release{};                            // only for display, never for decisions
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

// Privileges of a process, from its effective capabilities.
struct Privileges {
    bool bpf = false;       // CAP_BPF, or CAP_SYS_ADMIN
    bool perfmon = false;   // CAP_PERFMON, or CAP_SYS_ADMIN: BPF programs that read kernel memory
    bool read_all = false;  // CAP_SYS_PTRACE: read /proc/PID/environ of other users' processes
};
Privileges parse_privileges(std::string_view proc_self_status);

}  // namespace memscope
