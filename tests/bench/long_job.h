#pragma once
// A job with many processes, as benchmarks record it.
#include <fmt/format.h>
#include <memory>
#include <string>
#include <unistd.h>

#include "base/files.h"
#include "model/growth/growth.h"
#include "model/snapshot.h"

namespace memscope {

inline Process process(int i) {
    const auto n = static_cast<std::uint64_t>(i);
    const bool trainer = i % 20 == 0;
    Process made;
    made.task = {.time_ns = 31'536'000'000'000'000 + n * 5'021,
                 .id = {100'000 + i, 31'535'000'000'000'000 + n * 40'000'123},
                 .parent = trainer ? 99'999 : 100'000 + i - i % 20,
                 .target = CgroupId{48'213},
                 .comm = trainer ? "python3" : "pt_data_worker",
                 .memory = AddressSpace{.anon = {(2ULL << 30U) + n * 12'345'344},
                                        .file = {212'992'000 + n * 4096},
                                        .shmem = {67'108'864 + n * 4096},
                                        .swap = {},
                                        .virtual_size = {(30ULL << 30U) + n * 8'392'704},
                                        .page_tables = {9'498'624 + n * 4096}},
                 .threads = trainer ? 61U : 3U,
                 .faults = {1'234'567 + n * 1013, n * 3},
                 .faults_partial = false,
                 .forked_without_exec = !trainer,
                 .mount_namespace = 4'026'531'841,
                 .cgroup = CgroupId{48'213}};
    made.role = trainer ? Role::trainer : Role::dataloader_worker;
    made.rank = i / 20;
    if (!trainer) made.slot = i % 20;
    made.start_time = 1'794'757'000.25 + i;
    made.command = std::make_shared<const std::string>(fmt::format(
        "/opt/venv/bin/python3 -u train.py --config configs/large.yaml --local-rank {} --epochs 300", i / 20));
    if (!trainer) made.inherited = {1'610'612'736 + n * 4096};
    return made;
}

inline Snapshot job(int processes) {
    Snapshot snapshot{.time = 1'794'760'000.639476};
    snapshot.host = {.total = {1ULL << 40U}, .available = {600ULL << 30U}};
    TargetSnapshot target;
    target.info.name = "system.slice/slurmstepd.scope/job_4711";
    target.memory.usage = {400ULL << 30U};
    target.memory.unreclaimable = {380ULL << 30U};
    target.memory.by_kind = {{370ULL << 30U}, {8ULL << 30U}, {12ULL << 30U}, {6ULL << 30U}, {4ULL << 30U}};
    target.memory.limit = Bytes{512ULL << 30U};
    target.memory.effective = EffectiveLimit{"own", {512ULL << 30U}, {132ULL << 30U}};
    target.memory.candidates = {{"own", {512ULL << 30U}, {380ULL << 30U}}, {"host", {1ULL << 40U}, {424ULL << 30U}}};
    target.memory.events = MemoryEvents{};
    for (int i = 0; i < processes; ++i) {
        target.processes.push_back(process(i));
        const Process& made = target.processes.back();
        RoleTotals& totals = target.roles[{made.role, made.rank}];
        totals.anon += made.task.memory->anon;
        totals.processes += 1;
        target.counters[{made.role, made.rank}].starts += 1;
        target.counters[{made.role, made.rank}].mappings.emplace().mapped[0] = Bytes{1ULL << 33U};
    }
    for (const auto& [role, totals] : target.roles) {
        ScopeVerdict verdict{.scope = VerdictScope::role, .role = role, .began = Seconds(1'794'757'000)};
        verdict.judgement = {.verdict = Verdict::stable, .confidence = 0.93, .samples = 3000, .floor = totals.anon};
        verdict.explanation = "The floor has been flat for 40 min; leave room for 41 GiB.";
        target.verdicts.push_back(verdict);
    }
    snapshot.targets = {target};
    return snapshot;
}

// The memory of every process changes at every tick, which is the worst case for the compression.
inline void change(Snapshot& snapshot, int tick) {
    TargetSnapshot& target = snapshot.targets.front();
    snapshot.time += 1;
    std::uint32_t random = static_cast<std::uint32_t>(tick) * 2'654'435'761U;
    for (Process& process : target.processes) {
        random = random * 1'664'525 + 1'013'904'223;
        process.task.time_ns += 1'000'000'000;
        process.task.memory->anon = {(2ULL << 30U) + (random >> 12U) * 4096ULL};
        process.task.faults.minor += random >> 24U;
    }
    target.memory.usage = {(400ULL << 30U) + (random >> 10U) * 4096ULL};
    target.memory.unreclaimable = {(380ULL << 30U) + (random >> 11U) * 4096ULL};
}

// 40 call sites, as a growth report has them that is recorded once a minute. Their sizes change each time.
inline Growth growth(int tick) {
    constexpr int kSites = 40;
    Growth made;
    for (int i = 0; i < kSites; ++i) {
        GrowthSite site{.bytes = (std::int64_t{kSites - i} << 22U) + tick * 4096LL * i, .role = {Role::trainer, 0}};
        site.pids = {100'000 + i % 8 * 20};
        for (int depth = 0; depth < 8; ++depth)
            site.python.push_back({fmt::format("Trainer.step_{}", (i * 7 + depth) % 30),
                                   fmt::format("/opt/venv/lib/python3.12/site-packages/torch/part_{}.py", depth),
                                   100 + i * depth});
        for (int depth = 0; depth < 4; ++depth)
            site.native.push_back({fmt::format("at::native::kernel_{}(at::Tensor const&)", i + depth),
                                   "/opt/venv/lib/python3.12/site-packages/torch/lib/libtorch_cpu.so",
                                   0x1000'000ULL + static_cast<std::uint64_t>(i * 977 + depth)});
        made.resident.sites.push_back(std::move(site));
    }
    made.sentence = "Most of the growth is kept by Trainer.step (train.py:60).";
    return made;
}

// A directory in memory, because a sync for each simulated batch of a month would take hours on a disk.
struct Folder {
    fs::path path = fmt::format("/dev/shm/memscope-bench-{}", ::getpid());
    Folder() { fs::create_directory(path); }
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
};

}  // namespace memscope
