#pragma once
#include "model/deaths/death_report.h"

namespace memscope::test {

inline constexpr double kDied = 1763219018.5;  // 2025-11-15 15:03:38 UTC

inline Bytes in_mib(std::uint64_t n) { return {n << 20U}; }

inline Process member(pid_t pid, pid_t parent, Role role, const char* comm, const char* command, Bytes anon) {
    Process process;
    process.task.id = {pid, static_cast<std::uint64_t>(pid) * 1000};
    process.task.parent = parent;
    process.task.comm = comm;
    process.task.memory = AddressSpace{.anon = anon, .file = in_mib(20)};
    process.task.threads = 1;
    process.role = role;
    process.command = std::make_shared<const std::string>(command);
    return process;
}

// A trainer below its launcher, with a worker, in a cgroup of 512 MiB that is nearly full.
inline TargetSnapshot nearly_full() {
    TargetSnapshot target;
    target.info = {.name = "train", .kind = "cgroup", .cgroup_version = 1};
    target.memory.usage = in_mib(508);
    target.memory.unreclaimable = in_mib(500);
    target.memory.by_kind = {in_mib(490), in_mib(2), in_mib(8), in_mib(8), {}};
    target.memory.limit = in_mib(512);
    target.memory.effective = EffectiveLimit{"own", in_mib(512), in_mib(12)};
    target.processes = {
        member(100, 1, Role::launcher, "torchrun", "/usr/bin/torchrun train.py", in_mib(10)),
        member(101, 100, Role::trainer, "python3", "/usr/bin/python3 -u train.py", in_mib(440)),
        member(110, 101, Role::dataloader_worker, "pt_data_worker", "/usr/bin/python3 -u train.py", in_mib(40)),
    };
    for (const Process& process : target.processes) {
        RoleTotals& totals = target.roles[{process.role, process.rank}];
        totals.anon += process.task.memory->anon;
        totals.processes += 1;
        totals.threads += 1;
    }
    ScopeVerdict verdict;
    verdict.began = Seconds(kDied - 600);
    verdict.judgement.verdict = Verdict::leaking;
    verdict.judgement.samples = 600;
    verdict.judgement.floor = in_mib(495);
    verdict.judgement.floor_slope = 1 << 20U;
    verdict.judgement.warmup_ended = Seconds(kDied - 500);
    verdict.judgement.leak_started = Seconds(kDied - 500);
    verdict.forecast = Forecast{.eta = Seconds{12},
                                .earliest = Seconds{10},
                                .latest = Seconds{15},
                                .basis = Forecast::Basis::leak,
                                .limit = target.memory.effective};
    verdict.explanation = "The floor has risen steadily.";
    target.verdicts = {verdict};
    target.precursors = {{PrecursorKind::near_limit, kDied - 45, "97 % of its own limit of 512 MiB"}};
    return target;
}

inline Death oom_kill_of_trainer() {
    Death death;
    death.time = kDied;
    death.id = {101, 101000};
    death.parent = 100;
    death.comm = "python3";
    death.role = {Role::trainer, {}};
    death.cause = DeathCause::oom_kill;
    death.signal = 9;
    death.sender = DeathSender::kernel;
    death.rss_anon = in_mib(441);
    death.oom = OomKill{.constraint = OomConstraint::cgroup,
                        .limit_owner = "own",
                        .limit = in_mib(512),
                        .usage = in_mib(512),
                        .victim_cgroup = "train",
                        .trigger = NamedProcess{110, "pt_data_worker"}};
    death.explanation = "the kernel killed python3 (pid 101, trainer) at its own limit of 512 MiB, it held 441 MiB";
    return death;
}

inline Growth leaked_growth() {
    GrowthSite site;
    site.bytes = 400LL << 20U;
    site.role = {Role::trainer, {}};
    site.pids = {101};
    site.python = {{"History.append", "/job/history.py", 41}, {"main", "/job/train.py", 7}};
    Growth growth;
    growth.resident.sites = {site};
    growth.mapped.sites = {site};
    growth.owner = GrowthOwner{.plane = PlaneKind::mapped,
                               .role = site.role,
                               .place = "History.append (history.py:41)",
                               .bytes = site.bytes,
                               .share = 1};
    growth.sentence = "History.append (history.py:41) keeps 400 MiB more than when watching began.";
    return growth;
}

// The death report of that job.
inline DeathReport dead_job() {
    DeathReport report;
    report.deaths = {oom_kill_of_trainer()};
    report.then.time = kDied - 1;
    report.then.host.total = in_mib(16384);
    report.then.targets = {nearly_full()};
    report.growth = leaked_growth();
    for (int i = 0; i < 60; ++i) report.series.push_back({kDied - 60 + i, in_mib(440 + i), in_mib(450 + i)});
    report.events = {{kDied - 500, "warm-up", "warm-up ended"},
                     {kDied - 300, "verdict", "called leaking"},
                     {kDied - 45, "precursor", "near_limit: 97 % of its own limit of 512 MiB"}};
    report.advice = {"It was leaking: find the objects that the job keeps.",
                     "A higher limit only delays the next one."};
    return report;
}

// The report of the same job on a machine with two GPUs. The trainer and another process hold memory on one of them.
inline DeathReport dead_job_on_gpus() {
    constexpr auto gib = [](std::uint64_t n) { return Bytes{n << 30U}; };
    DeathReport report = dead_job();
    GpuDevice first{.id = "GPU-00",
                    .index = 0,
                    .name = "NVIDIA H200",
                    .pci_bus_id = "0000:01:00.0",
                    .used = gib(70),
                    .total = gib(140),
                    .utilization = 0.97,
                    .xid_errors = 2,
                    .knows_holders = true};
    GpuDevice second{.id = "GPU-01", .index = 1, .name = "NVIDIA H200", .used = gib(0), .total = gib(140)};
    report.then.gpus = {first, second};
    GpuUse use{.used = gib(60), .tensors = gib(40)};
    use.reserved[0] = gib(58);
    TargetGpu& gpu = report.then.targets.front().gpu.emplace();
    gpu.processes[101].devices[first.id] = use;
    gpu.roles[{{Role::trainer, {}}, first.id}] = use;
    gpu.pinned[{Role::trainer, {}}].by_kind = {in_mib(64), in_mib(33)};
    gpu.failures[{{Role::trainer, {}}, first.id}] = 3;
    return report;
}

}  // namespace memscope::test
