#include "analysis/deaths/advice.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <fmt/format.h>
#include <iterator>

#include "analysis/deaths/raise_limit.h"
#include "analysis/heap/heap_sentence.h"
#include "analysis/heap/holder_sentence.h"
#include "analysis/targets/target_judge.h"
#include "base/text.h"

namespace memscope {
namespace {

constexpr const char* kShrink = "a smaller batch, fewer DataLoader workers, less prefetching";

std::string per_minute(double bytes_per_second) {
    constexpr double kMost = 1e18;  // upper bound, because a report file can contain any number
    const double size = std::fmin(std::fmax(bytes_per_second, 0) * 60, kMost);
    return human_size(Bytes{static_cast<std::uint64_t>(size)}) + " a minute";
}

// A sentence about the holders that have grown, or another cause. Empty if none is known.
std::string grown_holders(const TargetSnapshot& target, double now) {
    const ProcessHeap* heap = heap_that_grows(target, now);
    return heap && names_holder(*heap->held) ? holder_sentence(heap) : std::string();
}

// Facts for advice about a leak, besides its curve.
struct LeakFacts {
    std::string top_site{};     // the line that keeps most of the leak; empty: not known
    std::string free{};         // describes free memory of an allocator, if that explains the growth
    std::string holders{};      // a sentence about the holders that have grown, or another cause
    bool growth_known = false;  // growth was followed, even if no line is known to keep it
};

std::string leak_text(const Judgement& judgement, bool died) {
    if (judgement.verdict == Verdict::leaking) return died ? "It was leaking" : "It leaks";
    return fmt::format("It {} at a constant rate of {} and {} nothing back, while a warm-up usually slows down",
                       died ? "grew" : "grows", per_minute(judgement.floor_slope), died ? "gave" : "gives");
}

// Adds advice for a leak, or for growth that looks like a leak although the warm-up was not over. If free memory of an
// allocator explains the growth, the lines that touched the memory first are not the cause. `died`: the job has died,
// so the text is in the past tense. `raise`: see limit_setting().
void add_leak(const Judgement& judgement, const LeakFacts& facts, bool died, const std::string& raise,
              std::vector<std::string>& advice) {
    const std::string what = leak_text(judgement, died);
    if (!facts.free.empty())
        advice.push_back(fmt::format("At the last heap census, {}.", facts.free));
    else if (!facts.holders.empty())
        advice.push_back(
            fmt::format("{}. {}{}{}", what, facts.holders,
                        facts.top_site.empty() ? "" : fmt::format(" {} keeps most of it.", facts.top_site),
                        facts.holders.starts_with('`') ? " Look at what adds to it, and when it is emptied." : ""));
    else if (facts.top_site.empty() && facts.growth_known)
        advice.push_back(
            fmt::format("{}, and which line keeps the memory is not known: {} shows what is live and what "
                        "is free.",
                        what, died ? "run `memscope heap` during the next run, it" : "`memscope heap`"));
    else if (facts.top_site.empty())
        advice.push_back(what +
                         ", and no call site is known: run it again without --no-growth and --no-python, then "
                         "`memscope growth` names the lines.");
    else
        advice.push_back(
            fmt::format("{}, and {} keeps most of the growth that is attributed: find the objects that are kept there "
                        "from one step to the next (lists of losses, caches, hooks, tensors with their graph).",
                        what, facts.top_site));
    if (judgement.verdict == Verdict::leaking)
        advice.push_back(fmt::format("A higher limit only delays {} OOM kill: it {} by {}.", died ? "the next" : "an",
                                     died ? "grew" : "grows", per_minute(judgement.floor_slope)));
    else
        advice.push_back(
            fmt::format("A higher limit ({}) helps only if the growth {}; memscope has observed it for {}.", raise,
                        died ? "was a warm-up that would have ended" : "is a warm-up that will end",
                        human_duration(judgement.until - judgement.since)));
}

// Advice for memory that was flat, that was still warming up, or that was watched too briefly. `raise`: see
// limit_setting().
std::string size_text(const Judgement& judgement, bool died, const std::string& raise) {
    switch (judgement.verdict) {
        case Verdict::stable:
            return fmt::format(
                "{}, so it probably needs this much and does not leak: raise the limit ({}) or use less "
                "memory: {}.",
                died ? "Memory had been flat until then" : "Memory is flat", raise, kShrink);
        case Verdict::spiky:
            return fmt::format(
                "{} and not a leak: leave room for {} plus one spike, or make the work at each spike "
                "smaller (validation, checkpoints).",
                died ? "The floor had been flat under spikes, so this was probably a peak"
                     : "The floor is flat under spikes, so they are probably peaks",
                human_size(judgement.floor));
        case Verdict::warming_up:
            return fmt::format("{}: raise the limit ({}) or use less memory ({}), and check the verdict {}.",
                               died ? "It was still warming up, so memscope cannot say whether it would have stopped "
                                      "growing"
                                    : "It is still warming up, so memscope cannot say whether it will stop growing",
                               raise, kShrink, died ? "of the next run" : "again later");
        case Verdict::insufficient:
        case Verdict::leaking:
            break;
    }
    return fmt::format(
        "{} too briefly to say whether it leaks: raise the limit ({}) or use less memory ({}), and "
        "check the verdict {}.",
        died ? "It was watched" : "It has been watched", raise, kShrink, died ? "of the next run" : "again later");
}

// Advice that follows from the kinds of memory and not from the curve.
void add_kinds(const TargetSnapshot& target, std::vector<std::string>& advice) {
    if (!target.sharing.explanation.empty())
        advice.emplace_back(
            "Forked workers had copied memory that they shared with their parent: keep the dataset in arrays (NumPy, "
            "Arrow, torch tensors) instead of Python objects, because each access to an object writes its reference "
            "count.");
    const MemoryByKind& kinds = target.memory.by_kind;
    if (kinds.shmem > kinds.anon)
        advice.emplace_back(
            "Most of it was shared memory, which stays until its files are removed: look for batches in /dev/shm "
            "(fewer workers, lower prefetch_factor) and for files in tmpfs.");
}

// Adds advice for a limit that other targets share: that of the machine or of an ancestor.
void add_others(const OomKill& oom, const TargetSnapshot& target, const HostMemory& host,
                std::vector<std::string>& advice) {
    const std::string held = human_size(judged_memory(target));
    if (oom.constraint == OomConstraint::host) {
        advice.push_back(fmt::format(
            "The machine itself had run out of memory ({}), and no limit of the job was reached: this target held {}. "
            "Check which jobs held the rest, and give all jobs limits that fit the machine together, so that only a "
            "job that exceeds its own limit is killed.",
            human_size(host.total), held));
        return;
    }
    const std::string limit = oom.limit ? " of " + human_size(*oom.limit) : "";
    const std::string usage = oom.usage ? fmt::format(" of the {} there", human_size(*oom.usage)) : "";
    advice.push_back(fmt::format(
        "The limit{} is that of {}, an ancestor of this target, which held {}{}: memscope --cgroup '{}' shows which "
        "processes hold the rest.",
        limit, printable(oom.limit_owner), held, usage, printable(oom.limit_owner)));
}

// Free memory of an allocator, if that is the cause of the growth. Empty if not.
std::string free_cause(const TargetSnapshot& target) {
    const ScopeVerdict* verdict = target.verdict();
    if (!verdict || !verdict->cause) return {};
    if (verdict->cause->kind == GrowthCause::Kind::malloc_free)
        return free_memory_sentence(target, HeapPart::malloc_free);
    if (verdict->cause->kind == GrowthCause::Kind::python_free)
        return free_memory_sentence(target, HeapPart::python_free);
    return {};
}

}  // namespace

std::vector<std::string> advice_for_oom_kill(const DeathReport& report, const std::string& top_site) {
    std::vector<std::string> advice;
    const TargetSnapshot& target = report.target();
    const OomKill oom = report.decisive().oom.value_or(OomKill{});
    if (oom.constraint == OomConstraint::cpuset || oom.constraint == OomConstraint::mempolicy) {
        advice.push_back(
            fmt::format("The NUMA nodes that it was bound to had run out of memory, not the machine: allow it "
                        "more nodes ({}).",
                        oom.constraint == OomConstraint::cpuset ? "cpuset.mems" : "numactl"));
        return advice;
    }
    const bool own = oom.limit_owner == "own" || oom.limit_owner.empty();
    if (oom.constraint == OomConstraint::host || !own) add_others(oom, target, report.host(), advice);
    if (oom.constraint == OomConstraint::unknown)
        advice.emplace_back(
            "memscope does not know which limit was reached: see the kernel log (dmesg, journalctl -k).");
    const ScopeVerdict* verdict = target.verdict();
    const Judgement judgement = verdict ? verdict->judgement : Judgement{};
    if (judgement.verdict == Verdict::leaking || (judgement.verdict == Verdict::warming_up && judgement.steady))
        add_leak(judgement,
                 {.top_site = top_site,
                  .free = free_cause(target),
                  .holders = grown_holders(target, report.then.time),
                  .growth_known = report.growth.has_value()},
                 true, limit_setting(limit_facts(target)), advice);
    else if (own && oom.constraint != OomConstraint::host)
        advice.push_back(size_text(judgement, true, limit_setting(limit_facts(target))));
    add_kinds(target, advice);
    return advice;
}

namespace {

constexpr std::size_t kMostSentences = 4;

std::string shm_advice(const std::string& mount, const TargetSnapshot& target) {
    if (mount.empty() || mount == "/dev/shm")
        return fmt::format(
            "Shared memory was full: enlarge /dev/shm ({}), or use fewer DataLoader workers and a lower "
            "prefetch_factor.",
            shm_setting(limit_facts(target)));
    return fmt::format("The file system at {} was full: enlarge it (mount -o remount,size=), or write less to it.",
                       printable(mount));
}

bool is_memory_file_system(const FullFile& file) { return file.file_system == "tmpfs"; }

// Process managers that kill processes as part of their job, and where they log the reason. `name` is a result of
// process_manager_of().
struct Killer {
    std::string_view name;
    const char* advice;
};
constexpr Killer kKillers[] = {
    {"systemd-oomd",
     "systemd-oomd kills a whole cgroup when pressure or swap use stays high, before the kernel would: oomctl and "
     "journalctl -u systemd-oomd say why; ManagedOOMPreference=avoid spares a unit."},
    {"earlyoom",
     "earlyoom kills when the machine is nearly out of memory: its log says how much was left; --avoid spares a "
     "program, -m sets the threshold. Check which other processes held memory."},
    {"nohang", "nohang kills when the machine is nearly out of memory or stalls: its log says why."},
    {"bustd", "bustd kills when the machine stalls because memory is short: its log says why."},
    {"oomd", "oomd kills by the rules in its configuration: its log says which rule applied."},
    {"the kubelet",
     "Kubernetes stopped the container: kubectl describe pod says why (an eviction, a failed probe, a deletion, the "
     "end of the grace period)."},
    {"the container runtime", "The container was stopped from outside: see the log of the container runtime."},
    {"Docker", "Docker stopped the container: docker events and docker inspect say why."},
    {"Podman", "Podman stopped the container: podman events and podman inspect say why."},
    {"Slurm",
     "Slurm ended the job step: sacct -j JOB -o State,Elapsed,Timelimit,ReqMem,MaxRSS says whether it was the time "
     "limit, the memory limit or scancel."},
    {"PBS", "PBS ended the job: tracejob or qstat -xf say why (wall time, memory, qdel)."},
    {"Grid Engine", "Grid Engine ended the job: qacct -j says why (h_rt, h_vmem, qdel)."},
    {"HTCondor", "HTCondor ended the job: its user log and condor_history say why."},
    {"systemd",
     "systemd stopped the unit: systemctl status and journalctl -u say why (a stop timeout, a limit of the run time)."},
};

void add_sender(const Death& death, std::vector<std::string>& advice) {
    const auto* known = std::ranges::find(kKillers, death.sent_for, &Killer::name);
    if (known != std::end(kKillers))
        advice.emplace_back(known->advice);
    else if (death.sent_by)
        advice.push_back(fmt::format(
            "{} (pid {}) sent the signal, and memscope saw no sign that memory was the reason: ask the owner of "
            "that process.",
            printable(death.sent_by->comm), death.sent_by->pid));
    else
        advice.emplace_back(
            "The sender of the signal is not known, and memscope saw no sign that memory was the reason.");
}

void add_sigbus(const Death& death, const TargetSnapshot& target, std::vector<std::string>& advice) {
    if (!death.mapping) {
        advice.emplace_back(
            "A page of a mapped file could not be provided: a full tmpfs (df -h /dev/shm), a truncated file, or a "
            "storage error.");
        return;
    }
    const FullFile& file = *death.mapping;
    if (is_memory_file_system(file))
        advice.push_back(shm_advice(file.mount, target));
    else if (file.file_system == "hugetlbfs")
        advice.emplace_back("The pool of huge pages was empty: reserve more (vm.nr_hugepages), or map fewer.");
    else
        advice.emplace_back(
            "The file was truncated while it was mapped, or its storage failed: the kernel log has storage errors "
            "(dmesg).");
}

void add_failed_allocation(const Death& death, const TargetSnapshot& target, std::vector<std::string>& advice) {
    const FailedAllocation failed = death.allocation.value_or(FailedAllocation{});
    if (failed.call == "fallocate" || failed.reason == "enospc") {
        advice.push_back(shm_advice(failed.file ? failed.file->mount : "", target));
        return;
    }
    if (failed.call == "fork")
        advice.emplace_back(
            "A fork failed because memory was short. With vm.overcommit_memory=2, a fork counts all memory of its "
            "parent again: start workers before the parent allocates memory, or use the start method spawn.");
    else
        advice.emplace_back(
            "The kernel refused the request: check ulimit -v (RLIMIT_AS), vm.overcommit_memory and CommitLimit in "
            "/proc/meminfo, and vm.max_map_count.");
    if (const auto size = failed.tensor ? failed.tensor : failed.size)
        advice.push_back(
            fmt::format("It asked for {} at once: if that is unexpected, check the code that computes the size.",
                        human_size(*size)));
}

// GPU memory that processes other than the dead process held.
Bytes held_by_others(const Death& death) {
    Bytes sum;
    for (const GpuShortage::Holder& holder : death.gpu->holders)
        if (holder.process.pid != death.id.pid) sum += holder.used.value_or(Bytes{});
    return sum;
}

void add_cuda_oom(const Death& death, std::vector<std::string>& advice) {
    const GpuShortage shortage = death.gpu.value_or(GpuShortage{});
    if (shortage.of_host) {
        advice.emplace_back(
            "The driver could not pin that much host memory: pin less (fewer DataLoader workers, a lower "
            "prefetch_factor, pin_memory=False), or give the machine or the container more memory.");
        return;
    }
    if (shortage.asked_for_more_than_all()) {
        advice.push_back(fmt::format(
            "It asked for {} at once, and the whole GPU has {}: no allocator setting and no other process would change "
            "that. Check the code that computes the size (a shape, a sequence length, an index that was meant for "
            "another axis), or split that tensor.",
            human_size(shortage.size), human_size(*shortage.total)));
        return;
    }
    if (death.gpu && shortage.free && *shortage.free + held_by_others(death) >= shortage.size &&
        *shortage.free < shortage.size)
        advice.push_back(
            fmt::format("Other processes held {} of the GPU: without them, this allocation would have succeeded.",
                        human_size(held_by_others(death))));
    advice.emplace_back(
        "The GPU's memory had run out: a smaller batch, activation checkpointing, or "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True if it is fragmented.");
}

void add_signal(const Death& death, std::vector<std::string>& advice) {
    switch (death.signal.value_or(0)) {
        case SIGSEGV:
        case SIGABRT:
        case SIGILL:
        case SIGFPE:
        case SIGTRAP:
            advice.emplace_back(
                "This is a crash, not a lack of memory: python -X faulthandler prints the line, and coredumpctl has "
                "the "
                "core dump if core dumps are kept.");
            break;
        case SIGXCPU:
            advice.emplace_back("It had used up its limit of CPU time (ulimit -t).");
            break;
        default:
            if (death.sender == DeathSender::outside)
                add_sender(death, advice);
            else
                advice.emplace_back("It was ended by a signal, and memscope saw no sign that memory was the reason.");
    }
}

}  // namespace

std::vector<std::string> advice_for(const DeathReport& report, const std::string& top_site) {
    std::vector<std::string> advice;
    const Death& death = report.decisive();
    switch (death.cause) {
        case DeathCause::oom_kill:
            advice = advice_for_oom_kill(report, top_site);
            break;
        case DeathCause::sigkill:
            add_sender(death, advice);
            break;
        case DeathCause::sigbus:
            add_sigbus(death, report.target(), advice);
            break;
        case DeathCause::signal:
            add_signal(death, advice);
            break;
        case DeathCause::alloc_failed:
            add_failed_allocation(death, report.target(), advice);
            break;
        case DeathCause::cuda_oom:
            add_cuda_oom(death, advice);
            break;
    }
    if (advice.size() > kMostSentences) advice.resize(kMostSentences);
    return advice;
}

std::vector<std::string> advice_for_run(const TargetSnapshot& target, double now, const std::string& top_site,
                                        bool growth_known, bool was_close) {
    std::vector<std::string> advice;
    const ScopeVerdict* verdict = target.verdict();
    if (!verdict) return advice;
    const Judgement& judgement = verdict->judgement;
    const bool steady = judgement.verdict == Verdict::warming_up && judgement.steady;
    if (judgement.verdict == Verdict::leaking || (steady && was_close))
        add_leak(judgement,
                 {.top_site = top_site,
                  .free = free_cause(target),
                  .holders = grown_holders(target, now),
                  .growth_known = growth_known},
                 false, limit_setting(limit_facts(target)), advice);
    else if (was_close)
        advice.push_back(size_text(judgement, false, limit_setting(limit_facts(target))));
    if (!advice.empty()) add_kinds(target, advice);
    if (advice.size() > kMostSentences) advice.resize(kMostSentences);
    return advice;
}

}  // namespace memscope
