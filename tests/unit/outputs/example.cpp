#include "example.h"

#include "outputs/text/notices.h"

namespace memscope::test {

Process process(pid_t pid, pid_t parent, Role role, const char* comm, const char* command, Bytes anon) {
    Process process;
    process.task.id = {pid, static_cast<std::uint64_t>(pid) * 1000};
    process.task.parent = parent;
    process.task.comm = comm;
    process.task.memory = AddressSpace{.anon = anon,
                                       .file = mib(120),
                                       .shmem = mib(8),
                                       .swap = mib(1),
                                       .virtual_size = gib(20),
                                       .page_tables = mib(2)};
    process.task.threads = 4;
    process.task.faults = {1000, 3};
    process.role = role;
    process.start_time = 1760000000.25;
    process.command = std::make_shared<const std::string>(command);
    return process;
}

ProcessHeap heap(pid_t pid, const RoleKey& role, double time, Bytes live, Bytes free) {
    HeapCensus census{.process = {pid, static_cast<std::uint64_t>(pid) * 1000},
                      .time = time,
                      .taken = Seconds{0.25},
                      .anon = live + free};
    census.part(HeapPart::malloc_live) = live;
    census.part(HeapPart::malloc_free) = free;
    census.allocator = {
        .name = AllocatorName::glibc, .version = "2.36", .arenas = 64, .trimmable = Bytes{free.n / 10 * 9}};
    return {.role = role, .census = std::move(census)};
}

TargetSnapshot training(const char* name) {
    TargetSnapshot target;
    target.info.name = name;
    auto& memory = target.memory;
    memory.usage = gib(47);
    memory.by_kind = {gib(40), gib(1), gib(5), mib(600), mib(424)};
    memory.unreclaimable = gib(41);
    memory.peak = gib(50);
    memory.limit = gib(64);
    memory.effective = EffectiveLimit{"own", gib(64), gib(23)};
    memory.events = MemoryEvents{};
    memory.pressure = Pressure{Seconds{1.5}, Seconds{0.5}, 0, 0};
    target.shm = ShmUsage{mib(100), gib(1)};
    target.reclaim = ReclaimStalls{};
    target.processes = {
        process(100, 1, Role::launcher, "torchrun", "/usr/bin/torchrun --nproc-per-node=1 train.py", mib(80)),
        process(101, 100, Role::trainer, "python3", "/usr/bin/python3 -u train.py --config big.yaml", gib(31)),
        process(110, 101, Role::dataloader_worker, "pt_data_worker", "/usr/bin/python3 -u train.py", gib(3)),
        process(111, 101, Role::dataloader_worker, "pt_data_worker", "/usr/bin/python3 -u train.py", gib(3)),
        process(112, 101, Role::dataloader_worker, "pt_data_worker", "/usr/bin/python3 -u train.py", gib(2)),
    };
    for (Process& process : target.processes) {
        if (process.role != Role::launcher) process.rank = 0;
        const RoleKey key{process.role, process.rank};
        RoleTotals& totals = target.roles[key];
        totals.anon += process.task.memory->anon;
        totals.file += process.task.memory->file;
        totals.shmem += process.task.memory->shmem;
        totals.processes += 1;
        totals.threads += process.task.threads;
        target.counters[key].starts += 1;
        target.counters[key].faults.minor += 1000;
        target.counters[key].mappings.emplace().mapped[MS_MAPPED_MMAP] = Bytes{1 << 20};
    }
    const RoleKey workers{Role::dataloader_worker, 0};
    target.sharing = {.summed_anon = gib(39), .cgroup_anon = gib(40)};
    target.sharing.unshared[workers] = {.bytes = gib(2), .confirmed = true, .processes = 3};
    target.sharing.pss[workers] = {.bytes = gib(6), .age = Seconds{2.5}, .processes = 3};
    return target;
}

// The target leaks, because the trainer does.
std::vector<ScopeVerdict> leaking() {
    ScopeVerdict whole;
    whole.judgement.verdict = Verdict::leaking;
    whole.judgement.samples = 3600;
    whole.judgement.floor = gib(40);
    whole.judgement.floor_slope = 4e6;
    whole.forecast = Forecast{.eta = Seconds{600},
                              .earliest = Seconds{500},
                              .latest = Seconds{900},
                              .basis = Forecast::Basis::leak,
                              .limit = EffectiveLimit{"own", gib(64), gib(23)},
                              .rate = 4e6};
    whole.explanation = "The floor has risen.";
    whole.grower = Grower{101, "python3", {Role::trainer, 0}, gib(2), Seconds{900}, 1, "torchrun"};
    ScopeVerdict trainer = whole;
    trainer.scope = VerdictScope::role;
    trainer.role = RoleKey{Role::trainer, 0};
    trainer.forecast.reset();
    return {whole, trainer};
}

void add_gpus(Snapshot& snapshot) {
    GpuDevice gpu{.id = "GPU-00", .index = 0, .name = "NVIDIA H200", .pci_bus_id = "00000000:01:00.0"};
    gpu.used = gib(70);
    gpu.free = gib(69);
    gpu.reserved = gib(1);
    gpu.total = gib(140);
    gpu.utilization = 0.97;
    gpu.xid_errors = 0;
    gpu.holders = {{101, gib(60)}, {999, gib(8)}};
    gpu.knows_holders = true;
    GpuDevice lost{.id = "GPU-11", .index = 1, .name = "NVIDIA H200"};
    lost.xid_errors = 1;
    lost.trouble = "the GPU is lost";
    snapshot.gpus = {gpu, lost};
    for (TargetSnapshot& target : snapshot.targets) {
        target.gpu.emplace().processes[101].devices["GPU-00"].used = gib(60);
        target.gpu->roles[{{Role::trainer, 0}, "GPU-00"}].used = gib(60);
    }
}

Snapshot example(bool with_gpus) {
    Snapshot snapshot;
    snapshot.time = 1760000000.5;
    snapshot.host = {gib(256), gib(128), {}, gib(8), gib(8), {}, Pressure{}};
    snapshot.targets = {training()};
    snapshot.targets[0].verdicts = leaking();
    if (with_gpus) add_gpus(snapshot);
    snapshot.self.cpu = Seconds{12.5};
    snapshot.self.resident = mib(21);
    snapshot.self.virtual_size = mib(90);
    snapshot.self.open_files = 40;
    snapshot.self.max_open_files = 1024;
    snapshot.self.threads = 4;
    snapshot.self.start_time = 1759990000;
    snapshot.self.bpf_maps = mib(3);
    snapshot.self.tick_duration = Seconds{0.0021};
    snapshot.self.dropped = {{"tree_ring_full", 0}, {"unknown_parent", 0}};
    snapshot.self.probes = {{"tree", true}, {"tasks", false}};
    return snapshot;
}

std::vector<std::string> notices(const Snapshot* before, const Snapshot& now) {
    NoticeWriter writer;
    if (before) (void)writer.write(nullptr, *before);
    return writer.write(before, now);
}

}  // namespace memscope::test
