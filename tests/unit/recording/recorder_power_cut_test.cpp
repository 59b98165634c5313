// A power cut at any moment leaves a recording that can be read and that has everything up to the last commit.
#include <gmock/gmock.h>
#include <sqlite3.h>

#include "power_cut.h"
#include "support/fake_tree.h"
#include "support/recorded_job.h"

namespace memscope {
namespace recorder_power_cut_test {

using recording::RecordingFile;

constexpr std::uint64_t kMiB = 1U << 20U;

struct APowerCut : testing::Test {
    FakeTree tree{{"state/", ""}, {"left/", ""}};
    std::mt19937 random{20261117};
    // After a commit: the number of operations, and the ticks that are safe from then on.
    struct Commit {
        std::size_t operations = 0;
        int ticks = 0;
    };
    std::vector<Commit> commits{};

    RecordingFile writer() {
        RecordingStore store = store_in(tree.at("state"));
        auto file = store.create("train", 1'000'000);
        EXPECT_TRUE(file);
        auto made = RecordingFile::create(*std::move(file), {{"begin", "1000000"}}, Seconds{0});
        EXPECT_TRUE(made) << (made ? "" : made.error().message());
        return *std::move(made);
    }

    // Two ticks for each commit, as the recorder does. Sizes differ, so that a torn page is noticed.
    void record(const test::PowerCut& power, RecordingFile& file, std::int64_t id, int first, int last) {
        for (int i = first; i < last; ++i) {
            const Snapshot snapshot =
                tick_of("train", 1'000'000.0 + i, {static_cast<std::uint64_t>(i) * kMiB}, 20 + i % 7);
            ASSERT_TRUE(file.add_tick(id, Seconds(i), snapshot, snapshot.targets.front()));
            if (i % 2 == 0) continue;
            ASSERT_TRUE(file.commit());
            commits.push_back({power.operations(), i + 1});
        }
    }

    int safe_ticks(std::size_t operations) const {
        int ticks = 0;
        for (const Commit& each : commits)
            if (each.operations <= operations) ticks = each.ticks;
        return ticks;
    }

    // Ticks in the file that is left; -1: it is damaged.
    int ticks_left(const fs::path& path) {
        sqlite3* handle = nullptr;
        std::string whole;
        const auto answer = [](void* text, int, char** columns, char**) {
            *static_cast<std::string*>(text) = columns[0];
            return 0;
        };
        if (::sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK)
            (void)::sqlite3_exec(handle, "PRAGMA integrity_check", answer, &whole, nullptr);
        ::sqlite3_close(handle);
        if (whole != "ok") return -1;
        auto opened = Recording::open(path);
        if (!opened || opened->targets().size() != 1) return -1;
        int ticks = 0;
        const auto read = opened->each_tick(
            *opened->target({}), {},
            [&](const RecordedSample& sample, const Snapshot&) { return sample.at == Seconds(ticks++); });
        return read ? ticks : -1;
    }

    // Cuts the power after each of the operations from `first` on.
    void cut_everywhere(const test::PowerCut& power, std::size_t first, const fs::path& file) {
        int most_lost = 0;
        for (std::size_t count = first; count <= power.operations(); ++count) {
            const fs::path left = tree.at("left") / std::to_string(count);
            fs::create_directory(left);
            power.restore(count, random, left);
            const int ticks = ticks_left(left / file.filename());
            ASSERT_GE(ticks, safe_ticks(count)) << "after operation " << count << " of " << power.operations();
            most_lost = std::max(most_lost, ticks - safe_ticks(count));
            fs::remove_all(left);
        }
        EXPECT_LE(most_lost, 2) << "nothing is there that was not recorded yet";
    }
};

TEST_F(APowerCut, LosesNothingThatWasCommitted) {
    fs::path path;
    test::PowerCut power(tree.at("state"));
    {
        RecordingFile file = writer();
        path = file.path();
        const auto id = file.add_target({.name = "train"});
        ASSERT_TRUE(id);
        record(power, file, *id, 0, 60);
        ASSERT_TRUE(file.close());
    }
    ASSERT_GT(power.operations(), 200U);
    cut_everywhere(power, commits.front().operations, path);
}

TEST_F(APowerCut, LosesNothingWhileAReaderStopsCheckpoints) {
    fs::path path;
    test::PowerCut power(tree.at("state"));
    {
        RecordingFile file = writer();
        path = file.path();
        const auto id = file.add_target({.name = "train"});
        ASSERT_TRUE(id);
        record(power, file, *id, 0, 6);
        sqlite3* reader = nullptr;
        ASSERT_EQ(::sqlite3_open_v2(path.c_str(), &reader, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
        ASSERT_EQ(::sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM ticks", nullptr, nullptr, nullptr), SQLITE_OK);
        record(power, file, *id, 6, 40);
        ASSERT_EQ(::sqlite3_exec(reader, "COMMIT", nullptr, nullptr, nullptr), SQLITE_OK);
        ::sqlite3_close(reader);
        record(power, file, *id, 40, 60);
        ASSERT_TRUE(file.close());
    }
    cut_everywhere(power, commits.front().operations, path);
}

TEST_F(APowerCut, NeedsFewSyncs) {
    test::PowerCut power(tree.at("state"));
    RecordingFile file = writer();
    const auto id = file.add_target({.name = "train"});
    ASSERT_TRUE(id);
    record(power, file, *id, 0, 20);
    const std::size_t before = power.operations();
    record(power, file, *id, 20, 60);
    EXPECT_GE(power.syncs(before), 20U) << "one for each commit";
    EXPECT_LE(power.syncs(before), 32U) << "and three for each checkpoint, one of them for the new header of the WAL";
    ASSERT_TRUE(file.close());
}

}  // namespace recorder_power_cut_test
}  // namespace memscope
