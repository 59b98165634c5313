#include "outputs/heap/heap_json.h"

#include <gtest/gtest.h>

#include "heap_example.h"
#include "support/json.h"

namespace memscope {
namespace heap_json_test {

using test::heap_report;
using test::kHeapMiB;

TEST(HeapJson, HasTheFieldsOfTheContract) {
    const auto json = nlohmann::json::parse(heap_json(heap_report()));
    EXPECT_EQ(json["time"], 1000.5);
    EXPECT_TRUE(json["target"].is_null());
    EXPECT_TRUE(json["since_seconds"].is_null());
    const auto& process = json["processes"][0];
    EXPECT_EQ(process["pid"], 4711);
    EXPECT_EQ(process["role"], "trainer");
    EXPECT_EQ(process["rank"], 2);
    EXPECT_EQ(process["taken_seconds"], 0.25);
    EXPECT_EQ(process["python"], "3.11");
    EXPECT_EQ(process["anon_bytes"], 100 * kHeapMiB);
    EXPECT_EQ(process["swap_bytes"], 0);
    ASSERT_EQ(process["parts"].size(), kHeapParts);
    EXPECT_EQ(process["parts"][1]["part"], "malloc_free");
    EXPECT_EQ(process["parts"][1]["bytes"], 30 * kHeapMiB);
    EXPECT_TRUE(process["parts"][1]["change_bytes"].is_null());
    EXPECT_EQ(process["allocator"]["name"], "glibc");
    EXPECT_EQ(process["allocator"]["trimmable_bytes"], 20 * kHeapMiB);
    EXPECT_EQ(process["mappings"].size(), 1U) << "--top";
    EXPECT_TRUE(process["incomplete"].is_object());
    EXPECT_TRUE(process["incomplete"].empty());
}

TEST(HeapJson, NumbersThatAreNotKnownAreNull) {
    HeapReport report = heap_report();
    report.processes[0].census.allocator = {.name = AllocatorName::jemalloc};
    report.processes[0].census.python.reset();
    report.processes[0].role.rank.reset();
    const auto json = nlohmann::json::parse(heap_json(report))["processes"][0];
    EXPECT_EQ(json["allocator"]["name"], "jemalloc");
    for (const char* name : {"version", "arenas", "trimmable_bytes"}) EXPECT_TRUE(json["allocator"][name].is_null());
    EXPECT_TRUE(json["python"].is_null());
    EXPECT_TRUE(json["rank"].is_null());
}

TEST(HeapJson, ChangesAreRelativeToTheEarlierCensus) {
    HeapReport report = heap_report();
    report.processes[0].earlier = report.processes[0].census;
    report.processes[0].earlier->time -= 30;
    report.processes[0].earlier->part(HeapPart::malloc_free) = Bytes{50 * kHeapMiB};
    const auto json = nlohmann::json::parse(heap_json(report));
    EXPECT_EQ(json["since_seconds"], 30.0);
    EXPECT_EQ(json["processes"][0]["parts"][1]["change_bytes"], -20 * static_cast<std::int64_t>(kHeapMiB));
    EXPECT_EQ(json["processes"][0]["parts"][0]["change_bytes"], 0);
}

TEST(HeapJson, GapsAreCounted) {
    HeapReport report = heap_report();
    report.processes[0].census.incomplete = {{HeapGap::torn, 3}, {HeapGap::time_limit, 1}};
    const auto json = nlohmann::json::parse(heap_json(report))["processes"][0]["incomplete"];
    EXPECT_EQ(json, (nlohmann::json{{"torn", 3}, {"time_limit", 1}}));
}

}  // namespace heap_json_test
}  // namespace memscope
