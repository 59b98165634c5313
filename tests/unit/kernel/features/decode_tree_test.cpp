#include <cstring>
#include <gmock/gmock.h>

#include "kernel/features/decode.h"
#include <memscope/shared/wire.h>

namespace memscope {
namespace decode_tree_test {

template <class Record>
std::span<const std::byte> bytes_of(const Record& record) {
    return std::as_bytes(std::span(&record, 1));
}

ms_header header(ms_event_kind kind, std::size_t size) {
    return {.time_ns = 7,
            .start_ns = 5,
            .target = 3,
            .pid = 42,
            .kind = static_cast<__u16>(kind),
            .size = static_cast<__u16>(size)};
}

TEST(Decode, AForkKeepsEveryField) {
    ms_placed record{.h = header(MS_EVENT_FORK, sizeof(ms_placed)), .parent = 41, .pad = 0, .comm = "pt_data_worker"};
    const auto event = decode_tree_event(bytes_of(record), 4096);
    ASSERT_TRUE(event);
    const auto& fork = std::get<Forked>(*event);
    EXPECT_EQ(fork.time_ns, 7U);
    EXPECT_EQ(fork.id, (ProcessId{42, 5}));
    EXPECT_EQ(fork.parent, 41);
    EXPECT_EQ(fork.target, CgroupId{3});
    EXPECT_EQ(fork.comm, "pt_data_worker");
}

TEST(Decode, ANameWithoutEndIsBounded) {
    ms_placed record{.h = header(MS_EVENT_MOVE, sizeof(ms_placed)), .parent = 1, .pad = 0, .comm = {}};
    std::memset(record.comm, 0xFF, sizeof record.comm);
    const auto event = decode_tree_event(bytes_of(record), 4096);
    ASSERT_TRUE(event);
    EXPECT_EQ(std::get<Moved>(*event).comm, std::string(16, '\xFF'));
}

TEST(Decode, ArgumentsAreSplitAndNeverReadBeyondTheRecord) {
    ms_exec record{
        .h = header(MS_EVENT_EXEC, sizeof(ms_exec)), .comm = "python3", .argv_bytes = 19, .pad = 0, .argv = {}};
    std::memcpy(record.argv, "python3\0train.py\0-x", 19);
    auto event = decode_tree_event(bytes_of(record), 4096);
    ASSERT_TRUE(event);
    EXPECT_THAT(std::get<Execed>(*event).argv, testing::ElementsAre("python3", "train.py", "-x"));
    record.argv_bytes = 0xFFFFFFFF;
    std::memset(record.argv, 'a', sizeof record.argv);
    event = decode_tree_event(bytes_of(record), 4096);
    ASSERT_TRUE(event);
    EXPECT_THAT(std::get<Execed>(*event).argv, testing::ElementsAre(std::string(MS_ARGV_BYTES, 'a')));
}

TEST(Decode, AnExitKeepsFaultsAndCode) {
    const ms_exit record{.h = header(MS_EVENT_EXIT, sizeof(ms_exit)),
                         .comm = "x",
                         .minor_faults = 10,
                         .major_faults = 2,
                         .exit_code = 9,
                         .flags = MS_TASK_FORKED_WITHOUT_EXEC,
                         .mappings = {}};
    const auto event = decode_tree_event(bytes_of(record), 4096);
    ASSERT_TRUE(event);
    const auto& exit = std::get<Exited>(*event);
    EXPECT_EQ(exit.faults, (Faults{10, 2}));
    EXPECT_EQ(exit.exit_code, 9);
    EXPECT_TRUE(exit.forked_without_exec);
}

TEST(Decode, RefusesShortUnknownOrInconsistentRecords) {
    const ms_exit record{.h = header(MS_EVENT_EXIT, sizeof(ms_exit)),
                         .comm = {},
                         .minor_faults = 0,
                         .major_faults = 0,
                         .exit_code = 0,
                         .flags = 0,
                         .mappings = {}};
    for (std::size_t size = 0; size < sizeof record; ++size)
        EXPECT_FALSE(decode_tree_event(bytes_of(record).first(size), 4096)) << size;
    ms_header unknown = header(MS_EVENT_FORK, sizeof(ms_header));
    EXPECT_FALSE(decode_tree_event(bytes_of(unknown), 4096));  // a fork without its body
    unknown.kind = 99;
    EXPECT_FALSE(decode_tree_event(bytes_of(unknown), 4096));
    unknown.kind = MS_EVENT_CGROUPS_CHANGED;
    EXPECT_TRUE(decode_tree_event(bytes_of(unknown), 4096));
    unknown.size = 60000;
    EXPECT_FALSE(decode_tree_event(bytes_of(unknown), 4096));
}

TEST(Decode, TasksAreSizedByThePageAndVforkChildrenHaveNoMemory) {
    ms_task rows[2]{};
    rows[0].pid = 1;
    rows[0].flags = MS_TASK_OWNS_MEMORY;
    rows[0].anon_pages = 3;
    rows[0].file_pages = -2;  // read while it changed
    rows[0].virtual_pages = 100;
    rows[1].pid = 2;
    rows[1].anon_pages = 3;
    DecodedScan scan;
    const auto& tasks = scan.tasks;
    ASSERT_TRUE(decode_tasks(std::as_bytes(std::span(rows)), 65536, scan));
    ASSERT_EQ(tasks.size(), 2U);
    EXPECT_EQ(tasks[0].task.memory->anon, Bytes{3 * 65536});
    EXPECT_EQ(tasks[0].task.memory->file, Bytes{0});
    EXPECT_EQ(tasks[0].task.memory->virtual_size, Bytes{100 * 65536});
    EXPECT_FALSE(tasks[1].task.memory);
    EXPECT_FALSE(decode_tasks(std::as_bytes(std::span(rows)).first(200), 4096, scan));
}

TEST(Decode, ARowWhoseThreadsWereNotVisitedSaysSo) {
    ms_task rows[2]{};
    rows[1].flags = MS_TASK_FAULTS_PARTIAL;
    DecodedScan scan;
    const auto& tasks = scan.tasks;
    ASSERT_TRUE(decode_tasks(std::as_bytes(std::span(rows)), 4096, scan));
    EXPECT_FALSE(tasks[0].task.faults_partial);
    EXPECT_TRUE(tasks[1].task.faults_partial);
}

ms_task row_with_mappings(pid_t pid, __u64 pages) {
    ms_task row{};
    row.pid = static_cast<__u32>(pid);
    row.flags = MS_TASK_HAS_MAPPINGS;
    row.mappings.mapped[MS_MAPPED_MMAP] = pages;
    row.mappings_activity = pages;
    return row;
}

TEST(Decode, MappingsDoNotDependOnEarlierScans) {
    DecodedScan scan;
    const auto& tasks = scan.tasks;
    const auto mapped = [&](const std::vector<ms_task>& rows) {
        EXPECT_TRUE(decode_tasks(std::as_bytes(std::span(rows)), 4096, scan));
        std::vector<std::uint64_t> pages;
        for (const ScannedTask& scanned : tasks)
            pages.push_back(scanned.mappings ? scanned.mappings->mapped[MS_MAPPED_MMAP].n / 4096 : 0);
        return pages;
    };
    EXPECT_THAT(mapped({row_with_mappings(1, 5), row_with_mappings(2, 7)}), testing::ElementsAre(5, 7));
    EXPECT_THAT(mapped({row_with_mappings(1, 6), row_with_mappings(2, 7)}), testing::ElementsAre(6, 7));
    EXPECT_THAT(mapped({row_with_mappings(2, 7), row_with_mappings(1, 6)}), testing::ElementsAre(7, 6));
    ms_task without = row_with_mappings(2, 7);
    without.flags = 0;
    EXPECT_THAT(mapped({without}), testing::ElementsAre(0));
    EXPECT_THAT(mapped({row_with_mappings(2, 7)}), testing::ElementsAre(7));
}

}  // namespace decode_tree_test
}  // namespace memscope
