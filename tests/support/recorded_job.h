#pragma once
#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "model/snapshot.h"
#include "recording/recording.h"
#include "recording/recording_file.h"
#include "recording/store.h"

// Recordings of a job whose memory a test chooses.
namespace memscope {

inline Snapshot tick_of(const std::string& target, double time, Bytes held, int processes = 1) {
    Snapshot snapshot{.time = time};
    TargetSnapshot made;
    made.info.name = target;
    made.memory.usage = made.memory.unreclaimable = made.memory.by_kind.anon = held;
    for (int i = 0; i < processes; ++i) {
        Process process;
        process.task.id = {100 + i, 1};
        process.task.comm = "python3";
        process.task.memory = AddressSpace{.anon = {held.n / static_cast<std::uint64_t>(processes)}};
        process.role = Role::trainer;
        process.command = std::make_shared<const std::string>("python3 train.py --rank " + std::to_string(i));
        made.processes.push_back(process);
        RoleTotals& totals = made.roles[{Role::trainer, std::nullopt}];
        totals.anon += process.task.memory->anon;
        totals.processes += 1;
    }
    made.verdicts.push_back({.judgement = {.verdict = Verdict::stable, .floor = held, .peak = held}});
    snapshot.targets = {std::move(made)};
    return snapshot;
}

inline RecordingStore store_in(const fs::path& where, Bytes most = {std::uint64_t{64} << 20U}) {
    auto store = RecordingStore::open(where, most);
    EXPECT_TRUE(store) << (store ? "" : store.error().message());
    return *std::move(store);
}

inline Recording reopened(const fs::path& path) {
    auto recording = Recording::open(path);
    EXPECT_TRUE(recording) << (recording ? "" : recording.error().message());
    return *std::move(recording);
}

// A closed recording with one tick a second: `held(i)` is the memory of the tick i.
template <class Held>
fs::path recorded_run(const fs::path& directory, const std::string& target, int ticks, Held held) {
    RecordingStore store = store_in(directory);
    auto file = store.create(target, 1'000'000);
    EXPECT_TRUE(file);
    const fs::path path = file->path;
    auto writer =
        recording::RecordingFile::create(*std::move(file), {{"version", "1"}, {"begin", "1000000"}}, Seconds{50});
    EXPECT_TRUE(writer) << (writer ? "" : writer.error().message());
    const auto id = writer->add_target({.name = target});
    EXPECT_TRUE(id);
    for (int i = 0; i < ticks; ++i) {
        const Snapshot snapshot = tick_of(target, 1'000'000.0 + i, held(i));
        EXPECT_TRUE(writer->add_tick(*id, Seconds(50.0 + i), snapshot, snapshot.targets.front()));
    }
    EXPECT_TRUE(writer->close());
    return path;
}

}  // namespace memscope
