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
#include "long_job.h"
#include "outputs/json/tick_json.h"
#include "record/record.h"
#include "recording/recording_file.h"

namespace memscope {
namespace {

constexpr int kRounds = 11;
constexpr int kTimes = 50;  // calls per round, because one call is too short for the clock of CPU time

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
    std::size_t sum = 0;  // the sum is used, so that the compiler cannot remove the work
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
