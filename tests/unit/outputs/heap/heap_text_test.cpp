#include "outputs/heap/heap_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "outputs/heap/heap_json.h"
#include "support/json.h"

namespace memscope {
namespace heap_text_test {

using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

HeapReport example() {
    HeapCensus census{.process = {.pid = 4711, .start_ns = 5}, .time = 1000.5};
    census.taken = Seconds{0.25};
    census.anon = Bytes{100 * kMiB};
    census.python = "3.11";
    census.part(HeapPart::malloc_live) = Bytes{60 * kMiB};
    census.part(HeapPart::malloc_free) = Bytes{30 * kMiB};
    census.part(HeapPart::mapped) = Bytes{10 * kMiB};
    census.allocator = {.name = AllocatorName::glibc, .version = "2.36", .arenas = 3, .trimmable = Bytes{20 * kMiB}};
    census.mappings = {{0x1000, 0x2000, Bytes{6 * kMiB}}, {0x3000, 0x4000, Bytes{4 * kMiB}}};
    HeapReport report{.time = census.time, .target = {}, .processes = {}, .top = 1};
    report.processes.push_back({.role = {.role = Role::trainer, .rank = 2}, .census = census, .earlier = {}});
    return report;
}

TEST(HeapJson, HasTheFieldsOfTheContract) {
    const auto json = nlohmann::json::parse(heap_json(example()));
    EXPECT_EQ(json["time"], 1000.5);
    EXPECT_TRUE(json["target"].is_null());
    EXPECT_TRUE(json["since_seconds"].is_null());
    const auto& process = json["processes"][0];
    EXPECT_EQ(process["pid"], 4711);
    EXPECT_EQ(process["role"], "trainer");
    EXPECT_EQ(process["rank"], 2);
    EXPECT_EQ(process["taken_seconds"], 0.25);
    EXPECT_EQ(process["python"], "3.11");
    EXPECT_EQ(process["anon_bytes"], 100 * kMiB);
    EXPECT_EQ(process["swap_bytes"], 0);
    ASSERT_EQ(process["parts"].size(), kHeapParts);
    EXPECT_EQ(process["parts"][1]["part"], "malloc_free");
    EXPECT_EQ(process["parts"][1]["bytes"], 30 * kMiB);
    EXPECT_TRUE(process["parts"][1]["change_bytes"].is_null());
    EXPECT_EQ(process["allocator"]["name"], "glibc");
    EXPECT_EQ(process["allocator"]["trimmable_bytes"], 20 * kMiB);
    EXPECT_EQ(process["mappings"].size(), 1U) << "--top";
    EXPECT_TRUE(process["incomplete"].is_object());
    EXPECT_TRUE(process["incomplete"].empty());
}

TEST(HeapJson, NumbersThatAreNotKnownAreNull) {
    HeapReport report = example();
    report.processes[0].census.allocator = {.name = AllocatorName::jemalloc};
    report.processes[0].census.python.reset();
    report.processes[0].role.rank.reset();
    const auto json = nlohmann::json::parse(heap_json(report))["processes"][0];
    EXPECT_EQ(json["allocator"]["name"], "jemalloc");
    for (const char* name : {"version", "arenas", "trimmable_bytes"}) EXPECT_TRUE(json["allocator"][name].is_null());
    EXPECT_TRUE(json["python"].is_null());
    EXPECT_TRUE(json["rank"].is_null());
}

TEST(HeapText, SaysWhichPartIsTheMemoryOfAnotherAllocator) {
    HeapReport report = example();
    HeapCensus& census = report.processes[0].census;
    census.allocator = {.name = AllocatorName::tcmalloc};
    census.part(HeapPart::malloc_live) = census.part(HeapPart::malloc_free) = Bytes{};
    census.part(HeapPart::mapped) = Bytes{100 * kMiB};
    const std::string text = heap_text(report, 100);
    EXPECT_THAT(text, HasSubstr("memory of tcmalloc, live and free, and other large mappings"));
    EXPECT_THAT(text, HasSubstr("of glibc only, but tcmalloc serves malloc: see mapped"));
    EXPECT_THAT(text, Not(HasSubstr("no known allocator")));
    EXPECT_THAT(heap_text(example(), 100), HasSubstr("large mappings of no known allocator"));
}

TEST(HeapJson, ChangesAreRelativeToTheEarlierCensus) {
    HeapReport report = example();
    report.processes[0].earlier = report.processes[0].census;
    report.processes[0].earlier->time -= 30;
    report.processes[0].earlier->part(HeapPart::malloc_free) = Bytes{50 * kMiB};
    const auto json = nlohmann::json::parse(heap_json(report));
    EXPECT_EQ(json["since_seconds"], 30.0);
    EXPECT_EQ(json["processes"][0]["parts"][1]["change_bytes"], -20 * static_cast<std::int64_t>(kMiB));
    EXPECT_EQ(json["processes"][0]["parts"][0]["change_bytes"], 0);
}

TEST(HeapJson, GapsAreCounted) {
    HeapReport report = example();
    report.processes[0].census.incomplete = {{HeapGap::torn, 3}, {HeapGap::time_limit, 1}};
    const auto json = nlohmann::json::parse(heap_json(report))["processes"][0]["incomplete"];
    EXPECT_EQ(json, (nlohmann::json{{"torn", 3}, {"time_limit", 1}}));
}

TEST(HeapText, BeginsWithTheSentenceAndHasATable) {
    const std::string text = heap_text(example(), 100);
    EXPECT_TRUE(text.starts_with("30 of 100 MiB are free inside glibc")) << text;
    EXPECT_THAT(text, HasSubstr("malloc_free     30 MiB   30 %  freed, but still held by malloc\n"));
    EXPECT_THAT(text, HasSubstr("allocator: glibc 2.36, 3 arenas, malloc_trim(0) would return 20 MiB\n"));
    EXPECT_THAT(text, HasSubstr("mapping: 1000-2000, 6.0 MiB resident\n"));
    EXPECT_THAT(text, Not(HasSubstr("CHANGE")));
    EXPECT_THAT(text, Not(HasSubstr("incomplete")));
}

TEST(HeapText, ShowsTheChangeAndWhatIsMissing) {
    HeapReport report = example();
    report.processes[0].earlier = report.processes[0].census;
    report.processes[0].earlier->time -= 30;
    report.processes[0].earlier->part(HeapPart::malloc_free) = Bytes{25 * kMiB};
    report.processes[0].census.incomplete = {{HeapGap::torn, 3}};
    const std::string text = heap_text(report, 100);
    EXPECT_THAT(text, HasSubstr("CHANGE"));
    EXPECT_THAT(text, HasSubstr("+5.0 MiB"));
    EXPECT_THAT(text, HasSubstr("incomplete: 3 x "));
    EXPECT_THAT(text, HasSubstr("changes: in the last 30 s\n"));
}

TEST(HeapText, FitsTheTerminal) {
    for (const std::size_t columns : {40, 80, 200})
        for (const std::string& line : [&] {
                 std::vector<std::string> lines;
                 std::string text = heap_text(example(), columns);
                 for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
                     lines.push_back(text.substr(at, end - at));
                 return lines;
             }())
            EXPECT_LE(line.size(), columns + 2) << line;  // "…" has three bytes
}

}  // namespace heap_text_test
}  // namespace memscope
