// How large a record of a snapshot is and how long it takes to make and read, beside the JSON of the same tick. Then
// bytes per tick of a recording, the CPU time and the memory that writing it takes, and its size after simulated days.
//   bench_record [PROCESSES [DAYS]]
// The JSON has what scripts need, the record has every member of the snapshot. 30 days take some minutes.
#include <cstdlib>
#include <fmt/format.h>
#include <malloc.h>
#include <rapidjson/document.h>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

#include "bench.h"
#include "outputs/json/tick_json.h"
#include "record/record.h"
#include "recording/recording_file.h"

namespace memscope {
namespace {

constexpr int kRounds = 11;
constexpr int kTimes = 50;  // in a round: one is too short for the clock of CPU time

Process process(int i) {
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

Snapshot job(int processes) {
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

template <class Work>
double micros(Work work) {
    std::vector<double> rounds;
    for (int round = 0; round < kRounds; ++round)
        rounds.push_back(cpu_of([&] {
                             for (int i = 0; i < kTimes; ++i) work();
                         }) *
                         1000 / kTimes);
    return median(rounds);
}

void compare(int processes) {
    const Snapshot snapshot = job(processes);
    const TargetSnapshot& target = snapshot.targets.front();
    const std::string record = encode_target(snapshot, target);
    const std::string json = tick_json(snapshot, target);
    const auto read = decode_record<Snapshot>(record);
    if (!read || tick_json(*read, read->targets.front()) != json) throw std::runtime_error("the record lost something");
    std::size_t sum = 0;  // so that nothing is left out by the compiler
    const double encode = micros([&] { sum += encode_target(snapshot, target).size(); });
    const double decode = micros([&] { sum += decode_record<Snapshot>(record)->targets.size(); });
    const double write = micros([&] { sum += tick_json(snapshot, target).size(); });
    const double parse = micros([&] {
        rapidjson::Document document;
        document.Parse(json.data(), json.size());
        sum += document.MemberCount();
    });
    fmt::print("record: a snapshot of {} processes, {} roles and verdicts\n", processes, target.roles.size());
    fmt::print("  {:8} {:>10} {:>12} {:>12}\n", "", "bytes", "make, us", "read, us");
    fmt::print("  {:8} {:>10} {:>12.0f} {:>12.0f}\n", "record", record.size(), encode, decode);
    fmt::print("  {:8} {:>10} {:>12.0f} {:>12.0f}  (read: as a document, without the values of the model)\n", "JSON",
               json.size(), write, parse);
    if (sum == 0) throw std::runtime_error("nothing was made");
}

// The memory of every process changes at every tick, which is the worst case for the compression.
void change(Snapshot& snapshot, int tick) {
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
Growth growth(int tick) {
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

// Bytes that malloc has handed out. SQLite and zstd use malloc, too.
std::uint64_t allocated() {
    const struct mallinfo2 info = ::mallinfo2();
    return info.uordblks + info.hblkhd;
}

struct Recorded {
    double bytes = 0;
    double cpu_seconds = 0;
    double most_memory = 0;  // bytes
};

// A directory in memory, because a sync for each simulated batch of a month would take hours on a disk.
struct Folder {
    fs::path path = fmt::format("/dev/shm/memscope-bench-{}", ::getpid());
    Folder() { fs::create_directory(path); }
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
};

Recorded recorded(int processes, int ticks, bool with_growth) {
    const Folder folder;
    auto store = RecordingStore::open(folder.path, {std::uint64_t{512} << 20U});
    if (!store) throw std::runtime_error(store.error().message());
    Snapshot snapshot = job(processes);
    Recorded result;
    const std::uint64_t before = allocated();
    auto file = store->create("bench", 0);
    if (!file) throw std::runtime_error(file.error().message());
    auto writer = recording::RecordingFile::create(*std::move(file), {}, Seconds{0});
    if (!writer) throw std::runtime_error(writer.error().message());
    const auto id = writer->add_target(snapshot.targets.front().info);
    if (!id) throw std::runtime_error(id.error().message());
    const auto check = [](const Status& status) {
        if (!status) throw std::runtime_error(status.error().message());
    };
    for (int i = 0; i < ticks; ++i) {
        change(snapshot, i);
        const bool grows = with_growth && i % 60 == 59;
        const std::string record = grows ? encode_record(growth(i)) : std::string();
        result.cpu_seconds += cpu_of([&] {
                                  check(writer->add_tick(*id, Seconds(i), snapshot, snapshot.targets.front()));
                                  if (grows) check(writer->add_growth(*id, Seconds(i), i, "minute", false, record));
                                  if (i % 2 == 1) check(writer->commit());  // as the recorder does
                              }) /
                              1000;
        if (i % 16 == 0)
            result.most_memory =
                std::max(result.most_memory, static_cast<double>(allocated()) - static_cast<double>(before));
    }
    const fs::path path = writer->path();
    check(writer->close());
    result.bytes = static_cast<double>(fs::file_size(path));
    return result;
}

void record_ticks() {
    constexpr int kTicks = 3600;
    fmt::print("record: an hour of one tick a second; the memory of every process changes at every tick\n");
    fmt::print("  {:>9} {:>12} {:>14} {:>12}\n", "processes", "bytes/tick", "CPU, % of core", "memory, MiB");
    for (const int processes : {1, 20, 200}) {
        const Recorded made = recorded(processes, kTicks, false);
        fmt::print("  {:>9} {:>12.0f} {:>14.3f} {:>12.2f}\n", processes, made.bytes / kTicks,
                   made.cpu_seconds / kTicks * 100, made.most_memory / (1 << 20));
    }
}

void record_days(int most) {
    fmt::print("record: 20 processes, one tick a second, and growth of 40 sites once a minute\n");
    fmt::print("  {:>9} {:>12} {:>14} {:>12}\n", "days", "size, MB", "CPU, % of core", "memory, MiB");
    for (const int days : {1, 7, 30}) {
        if (days > most) continue;
        const Recorded made = recorded(20, days * 86'400, true);
        fmt::print("  {:>9} {:>12.1f} {:>14.3f} {:>12.2f}\n", days, made.bytes / 1e6,
                   made.cpu_seconds / (days * 86'400) * 100, made.most_memory / (1 << 20));
    }
}

}  // namespace
}  // namespace memscope

int main(int count, char** arguments) {
    return memscope::report_of([&] {
        memscope::compare(count > 1 ? std::atoi(arguments[1]) : 300);
        memscope::record_ticks();
        memscope::record_days(count > 2 ? std::atoi(arguments[2]) : 30);
    });
}
