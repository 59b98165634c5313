// How large a record of a snapshot is and how long it takes to make and read, beside the JSON of the same tick.
//   bench_record [PROCESSES]
// The JSON has what scripts need, the record has every member of the snapshot.
#include <cstdlib>
#include <fmt/format.h>
#include <rapidjson/document.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench.h"
#include "outputs/json/tick_json.h"
#include "record/record.h"

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

}  // namespace
}  // namespace memscope

int main(int count, char** arguments) {
    return memscope::report_of([&] { memscope::compare(count > 1 ? std::atoi(arguments[1]) : 300); });
}
