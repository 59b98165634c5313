#include "kernel/plan.h"

namespace memscope {
namespace {

struct Row {
    std::string_view feature;
    std::string_view hook;
    std::string_view program;
    bool needed;
    std::string_view without;
    bool (*usable)(const KernelFacts&);
};

template <const char* name>
bool has(const KernelFacts& facts) {
    return facts.btf && facts.tracepoints.contains(name);
}

// A duration can be measured only with both its begin and its end hook.
template <const char* begin, const char* end>
bool has_both(const KernelFacts& facts) {
    return has<begin>(facts) && has<end>(facts);
}

constexpr char kFork[] = "sched_process_fork";
constexpr char kExec[] = "sched_process_exec";
constexpr char kExit[] = "sched_process_exit";
constexpr char kMove[] = "cgroup_attach_task";
constexpr char kMkdir[] = "cgroup_mkdir";
constexpr char kRmdir[] = "cgroup_rmdir";
constexpr char kRename[] = "cgroup_rename";
constexpr char kSysExit[] = "sys_exit";
constexpr char kRss[] = "rss_stat";
constexpr char kSysEnter[] = "sys_enter";
constexpr char kMemcgBegin[] = "mm_vmscan_memcg_reclaim_begin";
constexpr char kMemcgEnd[] = "mm_vmscan_memcg_reclaim_end";
constexpr char kDirectBegin[] = "mm_vmscan_direct_reclaim_begin";
constexpr char kDirectEnd[] = "mm_vmscan_direct_reclaim_end";
constexpr char kSignal[] = "signal_generate";
constexpr char kVictim[] = "mark_victim";

// Pages are sampled by one program at the counter of pages, which also finds the address of the fault.
bool samples_pages_at_once(const KernelFacts& facts) { return has<kRss>(facts) && facts.fault_addresses; }
// Pages are sampled by two programs, one at the counter of pages and one at served page faults.
bool samples_pages(const KernelFacts& facts) { return has<kRss>(facts) && facts.fault_events; }

constexpr std::string_view kNoStarts = "short-lived processes are not counted";
constexpr std::string_view kNoNumbers = "no process can be measured";
constexpr std::string_view kNoMoves = "a process that moves to another cgroup is noticed only at the next tick";
constexpr std::string_view kNoMapped = "mapped bytes and failed allocations are not counted";
constexpr std::string_view kNoGrowth = "growth is not attributed to call sites";
constexpr std::string_view kNoAddresses =
    "addresses of page faults are not known (before Linux 6.2: kernel.perf_event_paranoid): resident growth is shown "
    "where memory was first touched, and frees are not matched";
constexpr std::string_view kNoGrowthOfChildren = "growth of new processes is followed only from the next tick on";
constexpr std::string_view kNoMemcgStalls = "reclaim stalls at the limit of a cgroup are not measured";
constexpr std::string_view kNoDirectStalls = "reclaim stalls because the host is short of memory are not measured";
constexpr std::string_view kNoSenders = "the sender of a fatal signal is not known";
constexpr std::string_view kNoVictims = "only the kernel log shows which kills were OOM kills";
constexpr std::string_view kNoCuda = "CUDA allocations are not followed; only the sums of the GPU driver are known";
constexpr std::string_view kNoTensors = "the GPU memory that PyTorch tensors use is not known";
constexpr std::string_view kNoHostTensors = "host memory of PyTorch tensors is not attributed to call sites";
constexpr std::string_view kNoCgroups = "new and removed cgroups are noticed only at the next tick";

constexpr Row kRows[] = {
    {"tree", "fork", "tree_fork", true, kNoStarts, has<kFork>},
    {"tree", "exec", "tree_exec", true, "the roles of short-lived processes are not known", has<kExec>},
    {"tree", "exit", "tree_exit_group_dead", true, kNoStarts,
     [](const KernelFacts& k) { return has<kExit>(k) && k.exit_passes_group_dead == true; }},
    {"tree", "exit", "tree_exit_live_count", true, kNoStarts,
     [](const KernelFacts& k) { return has<kExit>(k) && k.exit_passes_group_dead == false && k.loop_helper; }},
    {"tree", "exit", "tree_exit_live_count_bounded", true, kNoStarts,
     [](const KernelFacts& k) { return has<kExit>(k) && k.exit_passes_group_dead == false; }},
    {"tree", "move", "tree_move", false, kNoMoves, has<kMove>},
    {"tree", "cgroup_made", "tree_mkdir", false, kNoCgroups, has<kMkdir>},
    {"tree", "cgroup_removed", "tree_rmdir", false, kNoCgroups, has<kRmdir>},
    {"tree", "cgroup_renamed", "tree_rename", false, kNoCgroups, has<kRename>},
    {"tasks", "scan", "tasks_iter_percpu", true, kNoNumbers,
     [](const KernelFacts& k) { return k.btf && k.task_iterator && k.percpu_rss == true; }},
    {"tasks", "scan", "tasks_iter_threads", true, kNoNumbers,
     [](const KernelFacts& k) { return k.btf && k.task_iterator && k.percpu_rss == false && k.loop_helper; }},
    {"tasks", "scan", "tasks_iter_threads_bounded", true, kNoNumbers,
     [](const KernelFacts& k) { return k.btf && k.task_iterator && k.percpu_rss == false; }},
    {"tasks", "quick_scan", "tasks_procs", false,
     "a tick needs three times as much CPU time, and far more with many threads",
     [](const KernelFacts& k) { return k.btf && k.task_loop && k.percpu_rss == true; }},
    {"memory", "sys_exit", "memory_sys_exit", false, kNoMapped,
     [](const KernelFacts& k) { return has<kSysExit>(k) && k.loop_helper; }},
    {"memory", "sys_exit", "memory_sys_exit_bounded", false, kNoMapped, has<kSysExit>},
    {"memory", "sys_enter", "memory_sys_enter", false, "mapped growth is not attributed to call sites", has<kSysEnter>},
    {"growth", "resident", "growth_sample", false, kNoGrowth, samples_pages_at_once},
    {"growth", "resident", "growth_count", false, kNoGrowth,
     [](const KernelFacts& k) { return samples_pages(k) && k.rss_stat_passes_count == false && k.loop_helper; }},
    {"growth", "resident", "growth_count_huge", false, kNoGrowth,
     [](const KernelFacts& k) { return samples_pages(k) && k.rss_stat_passes_count == true; }},
    {"growth", "resident", "growth_net", false, kNoGrowth,
     [](const KernelFacts& k) { return has<kRss>(k) && k.rss_stat_passes_count == false && k.loop_helper; }},
    {"growth", "resident", "growth_net_count", false, kNoGrowth,
     [](const KernelFacts& k) { return has<kRss>(k) && k.rss_stat_passes_count == true && k.loop_helper; }},
    {"growth", "resident", "growth_net_count_bounded", false, kNoGrowth,
     [](const KernelFacts& k) { return has<kRss>(k) && k.rss_stat_passes_count == true; }},
    {"growth", "fault", "growth_sample", false, kNoAddresses, samples_pages_at_once},
    {"growth", "fault", "growth_fault", false, kNoAddresses,
     [](const KernelFacts& k) { return samples_pages(k) && k.rss_stat_passes_count == false && k.loop_helper; }},
    {"growth", "fault", "growth_fault_count", false, kNoAddresses,
     [](const KernelFacts& k) { return samples_pages(k) && k.rss_stat_passes_count == true && k.loop_helper; }},
    {"growth", "fault", "growth_fault_count_bounded", false, kNoAddresses,
     [](const KernelFacts& k) { return samples_pages(k) && k.rss_stat_passes_count == true; }},
    {"growth", "fork", "growth_fork", false, kNoGrowthOfChildren,
     [](const KernelFacts& k) { return has<kFork>(k) && k.loop_helper; }},
    {"growth", "fork", "growth_fork_bounded", false, kNoGrowthOfChildren, has<kFork>},
    {"growth", "exec", "growth_exec", false, kNoGrowthOfChildren, has<kExec>},
    {"growth", "exit", "growth_exit", false, "entries of ended processes take up space in BPF maps", has<kExit>},
    {"reclaim", "memcg_begin", "reclaim_memcg_begin", false, kNoMemcgStalls, has_both<kMemcgBegin, kMemcgEnd>},
    {"reclaim", "memcg_end", "reclaim_memcg_end", false, kNoMemcgStalls, has_both<kMemcgBegin, kMemcgEnd>},
    {"reclaim", "direct_begin", "reclaim_direct_begin", false, kNoDirectStalls, has_both<kDirectBegin, kDirectEnd>},
    {"reclaim", "direct_end", "reclaim_direct_end", false, kNoDirectStalls, has_both<kDirectBegin, kDirectEnd>},
    {"deaths", "signal", "deaths_signal_mapping", false, kNoSenders,
     [](const KernelFacts& k) { return has<kSignal>(k) && k.find_vma_helper; }},
    {"deaths", "signal", "deaths_signal", false, kNoSenders, has<kSignal>},
    {"deaths", "victim", "deaths_victim", false, kNoVictims,
     [](const KernelFacts& k) { return has<kVictim>(k) && k.victim_is_task == true; }},
    {"deaths", "victim", "deaths_victim_number", false, kNoVictims,
     [](const KernelFacts& k) { return has<kVictim>(k) && k.victim_is_task == false && has<kSignal>(k); }},
    {"gpu", "calls", "gpu_return", false, kNoCuda,
     [](const KernelFacts& k) { return has_both<kExec, kExit>(k) && k.loop_helper; }},
    {"gpu", "calls", "gpu_return_bounded", false, kNoCuda, has_both<kExec, kExit>},
    {"gpu", "exec", "gpu_exec", false, kNoCuda, has<kExec>},
    {"gpu", "exit", "gpu_exit", false, kNoCuda, has<kExit>},
    {"torch", "probes", "torch_site", false, kNoTensors,
     [](const KernelFacts& k) { return has_both<kExec, kExit>(k) && k.attach_cookie; }},
    {"torch", "exec", "torch_exec", false, kNoTensors, has<kExec>},
    {"torch", "exit", "torch_exit", false, kNoTensors, has<kExit>},
    {"host_tensors", "calls", "host_new", false, kNoHostTensors,
     [](const KernelFacts& k) { return has_both<kExec, kExit>(k) && k.loop_helper; }},
    {"host_tensors", "calls", "host_new_bounded", false, kNoHostTensors, has_both<kExec, kExit>},
};

}  // namespace

Plan make_plan(const KernelFacts& facts) {
    Plan plan;
    for (const Row& row : kRows) {
        const bool same_hook = !plan.empty() && plan.back().feature == row.feature && plan.back().hook == row.hook;
        if (!same_hook) plan.push_back({row.feature, row.hook, {}, row.without, row.needed});
        if (plan.back().program.empty() && row.usable(facts)) plan.back().program = row.program;
    }
    return plan;
}

std::string_view program_of(const Plan& plan, std::string_view feature, std::string_view hook) {
    for (const Choice& choice : plan)
        if (choice.feature == feature && choice.hook == hook) return choice.program;
    return {};
}

std::vector<std::string_view> programs_of(const Plan& plan, std::string_view feature) {
    std::vector<std::string_view> programs;
    for (const Choice& choice : plan)
        if (choice.feature == feature && !choice.program.empty()) programs.push_back(choice.program);
    return programs;
}

std::optional<Error> obstacle(const KernelFacts& facts, const Privileges& privileges, const Plan& plan) {
    if (!privileges.bpf || !privileges.perfmon)
        return plain_error("watching needs root, or CAP_BPF and CAP_PERFMON", "run it with sudo");
    if (!facts.btf)
        return plain_error("this kernel has no BTF type information (no /sys/kernel/btf/vmlinux)",
                           "use a kernel built with CONFIG_DEBUG_INFO_BTF (kernels of distributions since 2020)");
    if (facts.lockdown == "confidentiality")
        return plain_error("kernel lockdown is in confidentiality mode, so BPF programs may not read kernel memory",
                           "boot with lockdown=integrity or none");
    if (facts.initial_pid_namespace == false)
        return plain_error("memscope runs in a PID namespace of its own and would not see most processes",
                           "run it in the host's PID namespace (docker: --pid=host, Kubernetes: hostPID: true)");
    for (const Choice& choice : plan)
        if (choice.needed && choice.program.empty())
            return plain_error("this kernel offers no hook for '" + std::string(choice.feature) + " " +
                                   std::string(choice.hook) + "': " + std::string(choice.without),
                               "`memscope doctor` lists everything that is missing");
    return std::nullopt;
}

}  // namespace memscope
