#include "kernel/facts.h"

#include <bpf/btf.h>
#include <cerrno>
#include <iterator>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <memory>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "kernel/bpf/handles.h"
#include "kernel/capabilities.h"
#include "kernel/fault_addresses.h"

namespace memscope {
namespace {

constexpr ino_t kInitialPidNamespace = 0xEFFFFFFC;  // PROC_PID_INIT_INO, part of the kernel's ABI

// The arguments of a tracepoint are the arguments of the function pointer type btf_trace_<name>, without the first
// argument (void*).
std::optional<int> tracepoint_arguments(const btf* types, const std::string& name) {
    const int id = btf__find_by_name_kind(types, ("btf_trace_" + name).c_str(), BTF_KIND_TYPEDEF);
    if (id < 0) return std::nullopt;
    const btf_type* pointer = btf__type_by_id(types, btf__type_by_id(types, static_cast<__u32>(id))->type);
    if (!pointer || !btf_is_ptr(pointer)) return std::nullopt;
    const btf_type* function = btf__type_by_id(types, pointer->type);
    if (!function || !btf_is_func_proto(function)) return std::nullopt;
    return btf_vlen(function) - 1;
}

bool has_struct(const btf* types, const char* name) { return btf__find_by_name_kind(types, name, BTF_KIND_STRUCT) > 0; }
bool has_function(const btf* types, const char* name) { return btf__find_by_name_kind(types, name, BTF_KIND_FUNC) > 0; }

bool has_enumerator(const btf* types, const char* enumeration, std::string_view name) {
    const int id = btf__find_by_name_kind(types, enumeration, BTF_KIND_ENUM);
    if (id < 0) return false;
    const btf_type* ids = btf__type_by_id(types, static_cast<__u32>(id));
    for (int i = 0; i < btf_vlen(ids); ++i)
        if (btf__name_by_offset(types, btf_enum(ids)[i].name_off) == name) return true;
    return false;
}

bool opens_fault_events() {
    perf_event_attr event{};
    event.type = PERF_TYPE_SOFTWARE;
    event.config = PERF_COUNT_SW_PAGE_FAULTS_MIN;
    event.size = sizeof event;
    event.sample_period = 1;
    for (int cpu = 0; cpu < libbpf_num_possible_cpus(); ++cpu) {
        if (Fd(static_cast<int>(::syscall(SYS_perf_event_open, &event, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC))))
            return true;
        if (errno != ENODEV) return false;  // ENODEV: the CPU is not online
    }
    return false;
}

// Drops all capabilities except those that memscope asks for, because some distributions require CAP_SYS_ADMIN for perf
// events. Runs in a child process, so it makes only system calls.
bool opens_fault_events_with_few_capabilities() {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    __user_cap_data_struct held[_LINUX_CAPABILITY_U32S_3]{};
    if (::syscall(SYS_capget, &header, held) != 0) return false;
    CapabilitySet kept;
    for (const CapabilityUse& use : capability_uses()) kept = kept.with(use.number);
    for (std::size_t i = 0; i < std::size(held); ++i) {
        held[i].permitted &= static_cast<__u32>(kept.bits >> (32 * i));
        held[i].effective = held[i].permitted;
        held[i].inheritable = 0;
    }
    return ::syscall(SYS_capset, &header, held) == 0 && opens_fault_events();
}

bool try_with_few_capabilities() {
    (void)libbpf_num_possible_cpus();  // reads a file at its first call, which the child must not do
    const pid_t child = ::fork();
    if (child < 0) return false;
    if (child == 0) ::_exit(opens_fault_events_with_few_capabilities() ? 0 : 1);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// No kernel type shows whether BPF has atomic exchange, so a program of four instructions is loaded. `nullopt` if
// memscope may not load BPF programs.
std::optional<bool> has_atomic_exchange() {
    constexpr bpf_insn kProgram[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .src_reg = 0, .off = 0, .imm = 0},
        {.code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_10, .src_reg = BPF_REG_0, .off = -8, .imm = 0},
        {.code = BPF_STX | BPF_ATOMIC | BPF_DW,
         .dst_reg = BPF_REG_10,
         .src_reg = BPF_REG_0,
         .off = -8,
         .imm = BPF_XCHG},
        {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0},
    };
    const Fd program(
        bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, nullptr, "GPL", kProgram, std::size(kProgram), nullptr));
    if (program) return true;
    return errno == EINVAL ? std::optional(false) : std::nullopt;
}

void read_types(const btf* types, KernelFacts& facts) {
    facts.btf = true;
    for (const char* name : kTracepoints)
        if (tracepoint_arguments(types, name)) facts.tracepoints.insert(name);
    if (const auto arguments = tracepoint_arguments(types, "sched_process_exit"))
        facts.exit_passes_group_dead = *arguments >= 2;
    if (const auto arguments = tracepoint_arguments(types, "rss_stat")) facts.rss_stat_passes_count = *arguments >= 3;
    if (const auto arguments = tracepoint_arguments(types, "mark_victim")) facts.victim_is_task = *arguments >= 2;
    facts.task_iterator = has_struct(types, "bpf_iter__task");
    facts.task_loop = has_function(types, "bpf_iter_task_new") && has_function(types, "bpf_rcu_read_lock") &&
                      has_function(types, "bpf_rdonly_cast");
    facts.loop_helper = has_enumerator(types, "bpf_func_id", "BPF_FUNC_loop");
    facts.find_vma_helper = has_enumerator(types, "bpf_func_id", "BPF_FUNC_find_vma");
    facts.attach_cookie = has_enumerator(types, "bpf_func_id", "BPF_FUNC_get_attach_cookie");
    facts.many_user_probes = has_enumerator(types, "bpf_attach_type", "BPF_TRACE_UPROBE_MULTI");
    // The kernel change that made allocation at user probes safe has added this type.
    facts.allocates_at_probes = has_struct(types, "bpf_mem_alloc");
    facts.memory_subsystem = has_enumerator(types, "cgroup_subsys_id", "memory_cgrp_id");
    facts.percpu_rss = !has_struct(types, "mm_rss_stat");
}

// "none [integrity] confidentiality": the active mode is in brackets.
std::optional<std::string> read_lockdown(const SysRoot& root) {
    const auto text = read_file(root.sys / "kernel/security/lockdown", 256);
    if (!text) return std::nullopt;
    const auto open = text->find('[');
    const auto close = text->find(']');
    if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
    return text->substr(open + 1, close - open - 1);
}

}  // namespace

KernelFacts gather_kernel_facts(const SysRoot& root) {
    KernelFacts facts;
    const fs::path types_file = root.sys / "kernel/btf/vmlinux";
    if (const Btf types{btf__parse(types_file.c_str(), nullptr)}; types) read_types(types.get(), facts);
    facts.atomic_exchange = has_atomic_exchange();
    facts.fault_addresses = facts.btf && facts.percpu_rss == true && facts.loop_helper && finds_fault_addresses();
    facts.fault_events = opens_fault_events();
    facts.fault_events_with_few_capabilities = facts.fault_events && try_with_few_capabilities();
    facts.lockdown = read_lockdown(root);
    struct stat status{};
    if (::stat((root.proc / "self/ns/pid").c_str(), &status) == 0)
        facts.initial_pid_namespace = status.st_ino == kInitialPidNamespace;
    if (utsname name{}; ::uname(&name) == 0) {
        facts.release = name.release;
        facts.architecture = name.machine;
    }
    return facts;
}

Privileges parse_privileges(std::string_view proc_self_status) {
    const CapabilitySet held = parse_capabilities(proc_self_status, "CapEff");
    const bool admin = held.has(CAP_SYS_ADMIN);
    return {.bpf = admin || held.has(CAP_BPF),
            .perfmon = admin || held.has(CAP_PERFMON),
            .read_all = held.has(CAP_SYS_PTRACE)};
}

}  // namespace memscope
