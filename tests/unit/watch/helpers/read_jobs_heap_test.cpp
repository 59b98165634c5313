#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sstream>
#include <unistd.h>

#include "watch/helpers/read_jobs.h"

namespace memscope {
namespace read_jobs_heap_test {

using testing::ContainsRegex;

std::string content(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

// The limits of the child of `parent` that has this name; empty if there is no such child.
std::string limits_of_child(pid_t parent, const std::string& name) {
    const std::string proc = "/proc/" + std::to_string(parent);
    std::istringstream children(content(proc + "/task/" + std::to_string(parent) + "/children"));
    for (std::string pid; children >> pid;)
        if (content("/proc/" + pid + "/comm") == name + "\n") return content("/proc/" + pid + "/limits");
    return {};
}

template <class Job>
Result<typename Job::Answer> answer_of(ProcessReader& reader, const Job& job) {
    for (;;) {
        if (auto answer = reader.ask(job)) return std::move(*answer);
        pollfd wanted{reader.fd(), POLLIN, 0};
        (void)::poll(&wanted, 1, 20);
        reader.pump();
    }
}

TEST(HeapHelper, EveryMemberOfACensusIsPacked) {
    HeapCensus census{
        .process = {.pid = 7, .start_ns = 8},
        .time = 1.5,
        .taken = Seconds{0.25},
        .anon = Bytes{10},
        .swap = Bytes{11},
        .python = "3.11",
        .allocator = {.name = AllocatorName::glibc, .version = "2.36", .arenas = 64, .trimmable = Bytes{12}},
        .mappings = {{.start = 1, .end = 2, .resident = Bytes{3}}},
        .incomplete = {{HeapGap::torn, 4}, {HeapGap::time_limit, 1}}};
    census.part(HeapPart::malloc_free) = Bytes{9};
    Packer packer;
    packer.put(Result<HeapCensus>(census));
    const auto read = Unpacker::result<HeapCensus>(packer.bytes(), {});
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->process, census.process);
    EXPECT_EQ(read->time, 1.5);
    EXPECT_EQ(read->taken, Seconds{0.25});
    EXPECT_EQ(read->anon, Bytes{10});
    EXPECT_EQ(read->swap, Bytes{11});
    EXPECT_EQ(read->python, "3.11");
    EXPECT_EQ(read->parts, census.parts);
    EXPECT_EQ(read->allocator.name, AllocatorName::glibc);
    EXPECT_EQ(read->allocator.version, "2.36");
    EXPECT_EQ(read->allocator.arenas, 64U);
    EXPECT_EQ(read->allocator.trimmable, Bytes{12});
    ASSERT_EQ(read->mappings.size(), 1U);
    EXPECT_EQ(read->mappings[0].resident, Bytes{3});
    EXPECT_EQ(read->incomplete, census.incomplete);
}

TEST(HeapHelper, OnlyTheHelperThatTakesCensusesHasAMemoryLimit) {
    const auto helpers = ReadHelpers::start(SysRoot{});
    ASSERT_TRUE(helpers) << helpers.error().message();
    (void)answer_of((*helpers)->heap, HeapJob{.pid = ::getpid(), .number = 1});
    (void)answer_of((*helpers)->quick, MapsJob{.pid = ::getpid(), .number = 1});
    EXPECT_EQ((*helpers)->restarts(), 0U);
    EXPECT_THAT(limits_of_child((*helpers)->spawner, "memscope-heap"), ContainsRegex("Max address space +[0-9]+ "));
    EXPECT_THAT(limits_of_child((*helpers)->spawner, "memscope-read"), ContainsRegex("Max address space +unlimited "));
}

}  // namespace read_jobs_heap_test
}  // namespace memscope
