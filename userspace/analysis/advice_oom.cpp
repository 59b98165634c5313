#include "analysis/advice_oom.h"

#include <cmath>
#include <fmt/format.h>

#include "analysis/target_judge.h"
#include "base/text.h"

namespace memscope {
namespace {

constexpr const char* kRaise = "memory.max, MemoryMax= of a unit, --memory of a container, limits.memory of a pod";
constexpr const char* kShrink = "a smaller batch, fewer DataLoader workers, less prefetching";

std::string per_minute(double bytes_per_second) {
    constexpr double kMost = 1e18;  // a file may hold any number
    const double size = std::fmin(std::fmax(bytes_per_second, 0) * 60, kMost);
    return human_size(Bytes{static_cast<std::uint64_t>(size)}) + " a minute";
}

// A leak, or growth that looks like one though the warm-up was not over.
void add_leak(const Judgement& judgement, const std::string& top_site, std::vector<std::string>& advice) {
    const bool leaks = judgement.verdict == Verdict::leaking;
    const std::string what =
        leaks
            ? "It was leaking"
            : fmt::format("It grew at a constant rate of {} and gave nothing back, while a warm-up usually slows down",
                          per_minute(judgement.floor_slope));
    if (top_site.empty())
        advice.push_back(what +
                         ", and no call site is known: run it again with growth followed (no --no-growth, no "
                         "--no-python), and memscope growth names the lines.");
    else
        advice.push_back(
            fmt::format("{}, and most of what grew was first touched at {}: look at what is kept there from "
                        "step to step (lists of losses, caches, hooks, tensors with their graph).",
                        what, top_site));
    advice.push_back(leaks ? fmt::format("A higher limit only delays the next one: it grew by {}.",
                                         per_minute(judgement.floor_slope))
                           : fmt::format("A higher limit ({}) helps only if the growth was a warm-up that would have "
                                         "ended; memscope saw {} of it.",
                                         kRaise, human_duration(judgement.until - judgement.since)));
}

// The curve has been flat, or nobody can tell.
void add_size(const Verdict verdict, const Judgement& judgement, std::vector<std::string>& advice) {
    switch (verdict) {
        case Verdict::stable:
            advice.push_back(fmt::format(
                "Memory had been flat until then, so this looks like a need and not like a leak: raise the limit ({}) "
                "or need less: {}.",
                kRaise, kShrink));
            break;
        case Verdict::spiky:
            advice.push_back(fmt::format(
                "The floor had been flat under spikes, so this looks like a peak and not like a leak: leave room for "
                "{} and a spike on top, or make smaller what comes at each of them (validation, checkpoints).",
                human_size(judgement.floor)));
            break;
        case Verdict::warming_up:
            advice.push_back(fmt::format(
                "It was still warming up, so nobody can tell whether it would have stopped growing: give it more room "
                "({}) or a smaller start ({}), and see what it is called then.",
                kRaise, kShrink));
            break;
        case Verdict::insufficient:
        case Verdict::leaking:
            advice.push_back(fmt::format(
                "It was watched too briefly to say whether it leaks: raise the limit ({}) or need less ({}), and see "
                "what it is called then.",
                kRaise, kShrink));
            break;
    }
}

// What the curve does not tell but the kinds of memory do.
void add_kinds(const TargetSnapshot& target, std::vector<std::string>& advice) {
    if (!target.sharing.explanation.empty())
        advice.emplace_back(
            "Forked workers had copied memory that they began by sharing: hold the dataset in arrays (NumPy, Arrow, "
            "torch tensors) instead of Python objects, whose reference counts are written on each look.");
    const MemoryByKind& kinds = target.memory.by_kind;
    if (kinds.shmem > kinds.anon)
        advice.emplace_back(
            "Most of it was shared memory, which stays until its files are removed: look for batches in /dev/shm "
            "(fewer workers, lower prefetch_factor) and for files in tmpfs.");
}

// Where others have their part in it.
void add_others(const OomKill& oom, const TargetSnapshot& target, const HostMemory& host,
                std::vector<std::string>& advice) {
    const std::string held = human_size(judged_memory(target));
    if (oom.constraint == OomConstraint::host) {
        advice.push_back(fmt::format(
            "The machine itself had run out ({}), no limit of the job was reached: this target held {}. See who held "
            "the rest, and give jobs limits that fit the machine together, so that one that outgrows its own dies "
            "alone.",
            human_size(host.total), held));
        return;
    }
    const std::string limit = oom.limit ? " of " + human_size(*oom.limit) : "";
    const std::string usage = oom.usage ? fmt::format(" of the {} there", human_size(*oom.usage)) : "";
    advice.push_back(fmt::format(
        "The limit{} is that of {}, around this target, which held {}{}: memscope --cgroup '{}' shows who holds the "
        "rest.",
        limit, printable(oom.limit_owner), held, usage, printable(oom.limit_owner)));
}

}  // namespace

std::vector<std::string> advice_for_oom_kill(const DeathReport& report, const std::string& top_site) {
    std::vector<std::string> advice;
    const TargetSnapshot& target = report.target();
    const OomKill oom = report.decisive().oom.value_or(OomKill{});
    if (oom.constraint == OomConstraint::cpuset || oom.constraint == OomConstraint::mempolicy) {
        advice.push_back(
            fmt::format("The memory nodes it was bound to had run out, not the machine: allow it more of "
                        "them ({}).",
                        oom.constraint == OomConstraint::cpuset ? "cpuset.mems" : "numactl"));
        return advice;
    }
    const bool own = oom.limit_owner == "own" || oom.limit_owner.empty();
    if (oom.constraint == OomConstraint::host || !own) add_others(oom, target, report.host(), advice);
    if (oom.constraint == OomConstraint::unknown)
        advice.emplace_back("Which limit it was is not known here: the kernel log says it (dmesg, journalctl -k).");
    const ScopeVerdict* verdict = target.verdict();
    const Judgement judgement = verdict ? verdict->judgement : Judgement{};
    if (judgement.verdict == Verdict::leaking || (judgement.verdict == Verdict::warming_up && judgement.steady))
        add_leak(judgement, top_site, advice);
    else if (own && oom.constraint != OomConstraint::host)
        add_size(judgement.verdict, judgement, advice);
    add_kinds(target, advice);
    return advice;
}

}  // namespace memscope
