#include "outputs/heap/heap_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heap_example.h"

namespace memscope {
namespace heap_text_test {

using test::heap_report;
using test::kHeapMiB;
using testing::HasSubstr;
using testing::Not;

TEST(HeapText, SaysWhichPartIsTheMemoryOfAnotherAllocator) {
    HeapReport report = heap_report();
    HeapCensus& census = report.processes[0].census;
    census.allocator = {.name = AllocatorName::tcmalloc};
    census.part(HeapPart::malloc_live) = census.part(HeapPart::malloc_free) = Bytes{};
    census.part(HeapPart::mapped) = Bytes{100 * kHeapMiB};
    const std::string text = heap_text(report, 100);
    EXPECT_THAT(text, HasSubstr("memory of tcmalloc, live and free, and other large mappings"));
    EXPECT_THAT(text, HasSubstr("of glibc only, but tcmalloc serves malloc: see mapped"));
    EXPECT_THAT(text, Not(HasSubstr("no known allocator")));
    EXPECT_THAT(heap_text(heap_report(), 100), HasSubstr("large mappings of no known allocator"));
}

TEST(HeapText, BeginsWithTheSentenceAndHasATable) {
    const std::string text = heap_text(heap_report(), 100);
    EXPECT_TRUE(text.starts_with("30 of 100 MiB are free inside glibc")) << text;
    EXPECT_THAT(text, HasSubstr("malloc_free     30 MiB   30 %  freed, but still held by malloc\n"));
    EXPECT_THAT(text, HasSubstr("allocator: glibc 2.36, 3 arenas, malloc_trim(0) would return 20 MiB\n"));
    EXPECT_THAT(text, HasSubstr("mapping: 1000-2000, 6.0 MiB resident\n"));
    EXPECT_THAT(text, Not(HasSubstr("CHANGE")));
    EXPECT_THAT(text, Not(HasSubstr("incomplete")));
}

TEST(HeapText, ShowsTheChangeAndWhatIsMissing) {
    HeapReport report = heap_report();
    report.processes[0].earlier = report.processes[0].census;
    report.processes[0].earlier->time -= 30;
    report.processes[0].earlier->part(HeapPart::malloc_free) = Bytes{25 * kHeapMiB};
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
                 std::string text = heap_text(heap_report(), columns);
                 for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
                     lines.push_back(text.substr(at, end - at));
                 return lines;
             }())
            EXPECT_LE(line.size(), columns + 2) << line;  // "…" has three bytes
}

}  // namespace heap_text_test
}  // namespace memscope
