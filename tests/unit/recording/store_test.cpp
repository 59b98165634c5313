#include "recording/store.h"

#include <fcntl.h>
#include <fstream>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "support/fake_tree.h"
#include "support/recorded_job.h"

namespace memscope {
namespace store_test {

using testing::HasSubstr;
using testing::SizeIs;

struct ARecordingStore : testing::Test {
    FakeTree tree{{"state/", ""}};
    fs::path directory = tree.at("state/recordings");

    fs::path file_of(const std::string& name, std::size_t bytes, int minutes_old) {
        const fs::path path = directory / name;
        std::ofstream(path) << std::string(bytes, 'x');
        fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::minutes(minutes_old));
        return path;
    }
};

TEST(RecordingName, HasTheTargetAndTheTime) {
    EXPECT_EQ(recording_name("train", 1763219018.9), "train-20251115T150338Z.memscope");
    EXPECT_EQ(recording_name("a/b c", 0), "a%2Fb%20c-19700101T000000Z.memscope");
    EXPECT_EQ(recording_name("..", 0), "_..-19700101T000000Z.memscope");
    EXPECT_EQ(recording_name("", 0), "_-19700101T000000Z.memscope");
    EXPECT_LE(recording_name(std::string(5000, '/'), 0).size(), 200U);
    EXPECT_THAT(recording_name(std::string(5000, 'x') + "end", 0), HasSubstr("xend-1970"));
}

TEST_F(ARecordingStore, MakesFilesForItselfAndItsGroup) {
    RecordingStore store = store_in(directory);
    const auto first = store.create("train", 0), second = store.create("train", 0);
    ASSERT_TRUE(first && second);
    EXPECT_NE(first->path, second->path);
    struct stat made{};
    ASSERT_EQ(::stat(first->path.c_str(), &made), 0);
    EXPECT_EQ(made.st_mode & 0777U, 0640U);
    ASSERT_EQ(::stat(directory.c_str(), &made), 0);
    EXPECT_EQ(made.st_mode & 0777U, 0750U);
}

TEST_F(ARecordingStore, FailsIfNoFileCanBeMade) {
    const auto store = RecordingStore::open("/proc/self", {1 << 20});
    ASSERT_FALSE(store);
    EXPECT_THAT(store.error().message(), HasSubstr("/proc/self"));
    EXPECT_THAT(store.error().message(), HasSubstr("--record"));
}

TEST_F(ARecordingStore, RemovesTheOldestFirst) {
    RecordingStore store = store_in(directory, {10'000});
    file_of("old.memscope", 4000, 30);
    file_of("old.memscope-wal", 1000, 30);
    file_of("new.memscope", 4000, 10);
    EXPECT_EQ(store.make_room({}).n, 9000U);  // within the limit
    file_of("newest.memscope", 4000, 1);
    EXPECT_EQ(store.make_room({}).n, 8000U);
    EXPECT_FALSE(fs::exists(directory / "old.memscope"));
    EXPECT_FALSE(fs::exists(directory / "old.memscope-wal"));
    EXPECT_TRUE(fs::exists(directory / "new.memscope"));
}

TEST_F(ARecordingStore, KeepsRecordingsInUseAndOtherFiles) {
    RecordingStore store = store_in(directory, {10'000});
    const fs::path locked = file_of("locked.memscope", 8000, 50);
    file_of("own.memscope", 8000, 40);
    file_of("notes.txt", 8000, 60);
    fs::create_symlink(directory / "notes.txt", directory / "link.memscope");
    file_of("free.memscope", 8000, 30);
    const Fd other(::open(locked.c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(::flock(other.get(), LOCK_EX), 0);
    EXPECT_EQ(store.make_room({"own.memscope"}).n, 16'000U);
    EXPECT_TRUE(fs::exists(locked));
    EXPECT_TRUE(fs::exists(directory / "own.memscope"));
    EXPECT_TRUE(fs::exists(directory / "notes.txt"));
    EXPECT_TRUE(fs::is_symlink(directory / "link.memscope"));
    EXPECT_FALSE(fs::exists(directory / "free.memscope"));
}

TEST_F(ARecordingStore, RemovesOneIfTheDiskIsFull) {
    RecordingStore store = store_in(directory, {100'000});
    file_of("old.memscope", 4000, 30);
    file_of("new.memscope", 4000, 10);
    EXPECT_EQ(store.make_room({}, true).n, 4000U);
    EXPECT_TRUE(fs::exists(directory / "new.memscope"));
}

TEST_F(ARecordingStore, TakesTheFileThatTheUserNames) {
    fs::create_directory(directory);
    const fs::path path = directory / "run.memscope";
    RecordingStore store = store_in(path);
    EXPECT_TRUE(store.takes_one_target());
    {
        const auto made = store.create("train", 0);
        ASSERT_TRUE(made);
        EXPECT_EQ(made->path.filename(), "run.memscope");
        EXPECT_THAT(store_in(path).create("train", 0).error().message(), HasSubstr("is being written"));
    }
    EXPECT_TRUE(store.create("train", 0));  // replaced
    fs::remove(path);
    std::ofstream(directory / "other") << "x";
    fs::create_symlink(directory / "other", path);
    EXPECT_FALSE(store.create("train", 0));
    EXPECT_TRUE(fs::exists(directory / "other"));
}

TEST_F(ARecordingStore, FindsRecordingsAlsoInFolders) {
    RecordingStore store = store_in(directory);
    file_of("b.memscope", 1, 30);
    fs::create_directory(directory / "0");
    file_of("0/a.memscope", 1, 40);
    file_of("report.json", 1, 30);
    const auto found = find_recordings(directory);
    ASSERT_TRUE(found);
    EXPECT_THAT(*found, testing::ElementsAre(directory / "0/a.memscope", directory / "b.memscope"));
}

TEST_F(ARecordingStore, RemovesARecordingWithoutAWriter) {
    RecordingStore store = store_in(directory);
    {
        const auto made = store.create("train", 0);
        EXPECT_THAT(remove_recording(made->path).error().message(), HasSubstr("a watcher is writing it"));
    }
    EXPECT_TRUE(remove_recording(directory / recording_name("train", 0)));
    EXPECT_THAT(*find_recordings(directory), SizeIs(0));
    EXPECT_THAT(remove_recording(directory / "none.memscope").error().message(), HasSubstr("No such file"));
    EXPECT_THAT(remove_recording(file_of("notes.txt", 1, 1)).error().message(), HasSubstr("is not a recording"));
}

}  // namespace store_test
}  // namespace memscope
