#include "cli/doctor.h"

#include <algorithm>
#include <ctime>
#include <dlfcn.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <set>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "kernel/plan.h"
#include "kernel/session.h"
#include "outputs/json/json_writer.h"
#include "sources/cgroup/cgroup_hierarchy.h"
#include "sources/gpu/nvml_library.h"
#include "sources/proc/host.h"
#include "sources/proc/kernel_log.h"
#include "watch/clock.h"
#include "watch/gpu/nvml_watch.h"
#include "watch/self/self_protection.h"
#include "watch/watch_options.h"

namespace memscope {
namespace {

Finding hierarchy_finding(const Result<CgroupHierarchy>& hierarchy) {
    if (!hierarchy) return {"memory controller", false, hierarchy.error().message()};
    return {"memory controller", true,
            fmt::format("cgroup v{} at {}{}", hierarchy->version, hierarchy->mount.string(),
                        hierarchy->hybrid ? " (hybrid: v1 and v2 are both mounted)" : "")};
}

Finding pressure_finding(const SysRoot& root, const Result<CgroupHierarchy>& hierarchy) {
    const auto host = read_host(root);
    if (!host) return {"pressure (PSI)", std::nullopt, host.error().message()};
    if (!host->pressure)
        return {"pressure (PSI)", false, "switched off or not in this kernel: no stall times (boot with psi=1)"};
    if (hierarchy && hierarchy->version == 1)
        return {"pressure (PSI)", true,
                "only for the host: cgroup v1 has no pressure per cgroup, so these metrics are absent"};
    return {"pressure (PSI)", true, "of the host and of each target"};
}

Finding log_finding(const SysRoot& root) {
    const auto log = KernelLog::open(root);
    if (log) return {"kernel log", true, "names the limit that caused an OOM kill"};
    return {"kernel log", false,
            log.error().message() + ": the cause of an OOM kill is inferred from which limit was exhausted"};
}

// Loads the library to find out whether it can be loaded. Calls no function of it.
Finding driver_finding(const char* library) {
    void* handle = ::dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    if (!handle) return {"CUDA driver", false, std::string(library) + " is not installed; jobs may bring their own"};
    ::dlclose(handle);
    return {"CUDA driver", true, std::string(library) + "; its calls are recorded in processes that map it"};
}

Finding python_finding() {
    for (const char* path : {"/usr/bin/python3", "/usr/local/bin/python3"})
        if (::access(path, X_OK) == 0)
            return {"Python", true,
                    std::string(path) + "; growth is attributed to Python lines, also if a job brings its own Python"};
    return {"Python", false, "no system interpreter; jobs may bring their own"};
}

// Whether a watcher with these privileges survives when the machine runs out of memory.
Finding oom_finding(const SysRoot& root, CapabilitySet capabilities) {
    const auto score = own_oom_score(root);
    if (!score) return {"OOM protection", std::nullopt, score.error().message()};
    if (*score <= kOwnOomScore) return {"OOM protection", true, fmt::format("its oom_score_adj is {}", *score)};
    if (capabilities.has(CAP_SYS_RESOURCE))
        return {"OOM protection", true, fmt::format("a watcher lowers its oom_score_adj to {}", kOwnOomScore)};
    return {"OOM protection", false,
            fmt::format("oom_score_adj is {}, and lowering it needs CAP_SYS_RESOURCE: when the machine runs out of "
                        "memory, the kernel may kill the watcher",
                        *score)};
}

// CPU time of one cheap system call in nanoseconds. Not the elapsed time, because other programs use the machine, too.
// Measures for 5 ms.
double call_cost() {
    constexpr int kAtATime = 1'000;
    constexpr int kMostCalls = 20'000;
    constexpr std::clock_t kEnough = CLOCKS_PER_SEC / 200;
    const std::clock_t before = std::clock();
    std::clock_t spent = 0;
    int calls = 0;
    while (calls < kMostCalls && spent < kEnough) {
        for (int i = 0; i < kAtATime; ++i) (void)::syscall(SYS_getppid);
        calls += kAtATime;
        spent = std::clock() - before;
    }
    return static_cast<double>(spent) * 1e9 / CLOCKS_PER_SEC / calls;
}

// MappingCalls runs a BPF program at the return of every system call of the machine, in unwatched processes, too. This
// measures its cost.
Finding mapped_bytes_finding(Session& session) {
    constexpr int kRounds = 5;
    MappingCalls* calls = session.find<MappingCalls>();
    if (!calls)
        return {"mapped bytes", false,
                "not counted: this kernel has no hook for calls that map memory, or has refused its programs"};
    double alone = 1e9;
    double hooked = 1e9;
    for (int i = 0; i < kRounds; ++i) {
        hooked = std::min(hooked, call_cost());
        calls->pause();
        alone = std::min(alone, call_cost());
        if (auto resumed = calls->resume(); !resumed) return {"mapped bytes", false, resumed.error().message()};
    }
    return {"mapped bytes", true,
            fmt::format("cost {:.0f} ns at every system call of this machine ({:.0f} instead of {:.0f} ns); --no-maps "
                        "avoids that",
                        std::max(0.0, hooked - alone), hooked, alone)};
}

Finding late_finding(const Session::TriedFeature& tried) {
    const std::string title(tried.feature.title);
    if (tried.refusal) return {title, false, tried.refusal->message()};
    return {title, true, std::string(tried.feature.use)};
}

Finding page_faults_finding(const KernelFacts& facts) {
    if (facts.fault_addresses) return {"page faults", true, "addresses are known: resident growth is live memory"};
    const std::string not_found =
        facts.percpu_rss == true ? "their addresses are not found on the stack of this kernel, and they are " : "";
    if (!facts.fault_events)
        return {"page faults", false,
                not_found +
                    "not counted by perf events (kernel.perf_event_paranoid): resident growth is shown where "
                    "memory was first touched, and frees are not matched"};
    if (!facts.fault_events_with_few_capabilities)
        return {"page faults", true,
                not_found +
                    "counted by perf events for root only: a service with the capabilities below needs CAP_SYS_ADMIN "
                    "as well, or "
                    "kernel.perf_event_paranoid=2"};
    return {"page faults", true, not_found + "counted by perf events: resident growth is live memory"};
}

std::string yes_no(std::optional<bool> present) { return !present ? "?? " : *present ? "ok " : "-- "; }

}  // namespace

Diagnosis diagnose(const SysRoot& root) {
    Diagnosis diagnosis;
    diagnosis.facts = gather_kernel_facts(root);
    const KernelFacts& facts = diagnosis.facts;
    diagnosis.plan = make_plan(facts);
    const auto status = read_file(root.proc / "self/status");
    const Privileges privileges = parse_privileges(status ? *status : "");
    const auto hierarchy = find_hierarchy(root);

    diagnosis.capabilities = parse_capabilities(status ? *status : "", "CapEff");

    const bool privileged = privileges.bpf && privileges.perfmon;
    diagnosis.findings = {
        {"privileges", privileged, privileged ? "CAP_BPF and CAP_PERFMON" : "watching needs root: use sudo"},
        {"kernel types (BTF)", facts.btf,
         facts.btf ? "/sys/kernel/btf/vmlinux" : "without them no BPF program can be loaded"},
        {"lockdown", facts.lockdown != "confidentiality", facts.lockdown.value_or("none")},
        {"PID namespace", facts.initial_pid_namespace,
         facts.initial_pid_namespace == false ? "not that of the host: most processes are not visible"
                                              : "that of the host"},
        hierarchy_finding(hierarchy),
        {"resident counters", facts.percpu_rss.has_value(),
         facts.percpu_rss.value_or(false) ? "per CPU, summed exactly" : "per address space and thread, summed exactly"},
        page_faults_finding(facts),
        pressure_finding(root, hierarchy),
        log_finding(root),
        nvml_finding(WatchOptions{}.nvml),
        driver_finding("libcuda.so.1"),
        python_finding(),
        oom_finding(root, diagnosis.capabilities),
    };

    diagnosis.obstacle = obstacle(facts, privileges, diagnosis.plan);
    if (!diagnosis.obstacle && !hierarchy) diagnosis.obstacle = hierarchy.error();
    if (diagnosis.obstacle) return diagnosis;
    diagnosis.tried = true;
    const bool v1 = hierarchy->version == 1;
    auto session = Session::start(diagnosis.plan, {.memory_on_v1 = v1,
                                                   .follow_ranges = true,
                                                   .atomic_exchange = facts.atomic_exchange.value_or(false),
                                                   .many_user_probes = facts.many_user_probes,
                                                   .allocates_at_probes = facts.allocates_at_probes});
    if (session) {
        diagnosis.findings.push_back(mapped_bytes_finding(*session));
        for (const Error& refused : session->refused())
            diagnosis.findings.push_back({"kernel feature", false, refused.message()});
        diagnosis.complete = session->refused().empty();
        for (const Session::TriedFeature& tried : session->try_late_features()) {
            diagnosis.findings.push_back(late_finding(tried));
            if (tried.refusal) diagnosis.complete = false;
        }
    } else {
        diagnosis.obstacle = session.error();
    }
    return diagnosis;
}

std::string diagnosis_text(const Diagnosis& diagnosis) {
    std::string text = fmt::format("kernel {} {}\n\n", diagnosis.facts.release, diagnosis.facts.architecture);
    for (const Finding& finding : diagnosis.findings)
        text += fmt::format("  {} {:<20} {}\n", yes_no(finding.present), finding.name, finding.note);
    text += "\ncapabilities\n";
    for (const CapabilityUse& use : capability_uses()) {
        const bool held = diagnosis.capabilities.has(use.number);
        text += fmt::format("  {} {:<20} {}\n", yes_no(held), use.name, held ? use.use : use.without);
    }
    text += "\nhooks\n";
    for (const Choice& choice : diagnosis.plan) {
        const std::string name = fmt::format("{} {}", choice.feature, choice.hook);
        text += fmt::format("  {} {:<20} {}\n", yes_no(!choice.program.empty()), name,
                            choice.program.empty() ? choice.without : choice.program);
    }
    if (diagnosis.works() && diagnosis.complete)
        text += "\nWatching works here: every hook was loaded and attached just now.\n";
    else if (diagnosis.works())
        text += "\nWatching works here, without the programs that the kernel has refused (see above).\n";
    else
        text += "\nWatching does not work here: " + diagnosis.obstacle->message() + "\n";
    return text;
}

std::string diagnosis_json(const Diagnosis& diagnosis) {
    JsonWriter json;
    json.object([&] {
        json.field("works", diagnosis.works());
        json.field("tried", diagnosis.tried);
        json.key("obstacle");
        diagnosis.obstacle ? json.value(std::string_view(diagnosis.obstacle->message())) : json.value(nullptr);
        json.field("kernel", std::string_view(diagnosis.facts.release));
        json.field("architecture", std::string_view(diagnosis.facts.architecture));
        json.list("findings", [&] {
            for (const Finding& finding : diagnosis.findings)
                json.object([&] {
                    json.field("name", std::string_view(finding.name));
                    json.field("present", finding.present);
                    json.field("note", std::string_view(finding.note));
                });
        });
        json.list("capabilities", [&] {
            for (const CapabilityUse& use : capability_uses())
                json.object([&] {
                    json.field("name", use.name);
                    json.field("held", diagnosis.capabilities.has(use.number));
                    json.field("use", use.use);
                    json.field("without", use.without);
                });
        });
        json.list("hooks", [&] {
            for (const Choice& choice : diagnosis.plan)
                json.object([&] {
                    json.field("signal", choice.feature);
                    json.field("hook", choice.hook);
                    json.key("program");
                    choice.program.empty() ? json.value(nullptr) : json.value(choice.program);
                    json.field("needed", choice.needed);
                    if (choice.program.empty()) json.field("without", choice.without);
                });
        });
    });
    return json.text() + "\n";
}

namespace {

std::string devices_text(const std::vector<GpuDevice>& devices) {
    std::size_t gpus = 0;
    std::size_t parts = 0;
    std::size_t silent = 0;
    std::set<std::string> names;
    for (const GpuDevice& device : devices) {
        ++(device.part_of.empty() ? gpus : parts);
        if (!device.trouble.empty()) ++silent;
        if (device.part_of.empty()) names.insert(device.name);
    }
    std::string text = fmt::format("{} GPU{}", gpus, gpus == 1 ? "" : "s");
    std::string models;
    for (const std::string& name : names) models += (models.empty() ? "" : ", ") + name;
    if (!models.empty()) text += " (" + models + ")";
    if (parts > 0) text += fmt::format(", {} MIG device{}", parts, parts == 1 ? "" : "s");
    if (silent > 0) text += fmt::format(", {} of them do not answer", silent);
    const bool no_lists = std::ranges::any_of(
        devices, [](const GpuDevice& device) { return device.trouble.empty() && !device.knows_holders; });
    if (no_lists) text += "; some do not report which processes hold their memory";
    return text;
}

// "; without nvmlX, nvmlY: no Xid errors of GPUs"
std::string missing_text(const std::vector<MissingNvmlCall>& missing) {
    std::string text;
    for (std::size_t i = 0; i < missing.size(); ++i) {
        const bool goes_on = i > 0 && missing[i - 1].cost == missing[i].cost;
        if (goes_on)
            text.insert(text.rfind(':'), fmt::format(", {}", missing[i].name));
        else
            text += fmt::format("; without {}: {}", missing[i].name, missing[i].cost);
    }
    return text;
}

}  // namespace

Finding nvml_finding(const std::string& library, Seconds patience) {
    const auto opened = NvmlLibrary::open(library);
    if (!opened) return {"NVML", false, printable(opened.error().message()) + ": no GPU memory is shown"};
    const std::string missing = missing_text(opened->missing());
    const NvmlPoller poller(open_nvml(*opened), Seconds{1});
    if (!poller.wait_for_first(patience))
        return {"NVML", false,
                fmt::format("{} is installed, but the driver has not answered for {}{}", library,
                            human_duration(patience), missing)};
    const auto sample = poller.latest(read_clock().boot_ns);
    if (sample.taken_ns == 0)
        return {"NVML", false, fmt::format("{}: {}: no GPU memory is shown{}", library, sample.why, missing)};
    return {"NVML", true, fmt::format("{}: {}{}", library, devices_text(sample.devices), missing)};
}

}  // namespace memscope
