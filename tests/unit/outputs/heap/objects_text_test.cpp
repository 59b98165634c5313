#include "outputs/heap/objects_text.h"

#include <gmock/gmock.h>

#include "analysis/heap/holder_sentence.h"
#include "base/text.h"
#include "example.h"
#include "heap_example.h"
#include "outputs/deaths/action_facts.h"
#include "outputs/deaths/death_report_bounds.h"
#include "outputs/deaths/death_report_json.h"
#include "outputs/deaths/death_text.h"
#include "outputs/heap/heap_json.h"
#include "outputs/heap/heap_text.h"
#include "outputs/json/tick_json.h"
#include "outputs/text/notices.h"
#include "outputs/text/text_layout.h"
#include "support/fake_objects.h"
#include "support/json.h"

namespace memscope {
namespace objects_text_test {

using test::kCensusTime;
using test::leaking_process;
using test::report_of;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Without the line breaks of its layout.
std::string one_line(std::string text) {
    std::ranges::replace(text, '\n', ' ');
    return text;
}

TEST(ObjectsText, BeginsWithTheAnswerAndHasHoldersFirst) {
    const std::string text = heap_text(report_of(leaking_process()), 80);
    EXPECT_THAT(text, StartsWith("`train_epoch (train.py:44) self.activations['layer2']` (list) has grown by 5,000"));
    EXPECT_THAT(one_line(text), HasSubstr("`__main__.trainer.val_outputs` (list) has grown by 5,000 tuples"));
    std::vector<std::size_t> places;
    for (const char* head : {"HOLDER ", "TENSORS ", "ARRAYS ", "TYPES ", "PART "}) places.push_back(text.find(head));
    EXPECT_TRUE(std::ranges::is_sorted(places)) << text;
    EXPECT_NE(places.back(), std::string::npos) << text;
    EXPECT_THAT(text, HasSubstr("held by C++"));
    EXPECT_THAT(text, HasSubstr("all tensors on cuda:0"));
}

TEST(ObjectsText, FitsIntoEightyColumns) {
    ProcessHeap process = leaking_process();
    ObjectCensus many = *process.census.objects;
    many.holders[0].path = std::string(500, 'x');
    many.holders[0].length = 123'456'789;
    many.types[0].type = std::string(300, 'y');
    process.census.objects = std::make_shared<const ObjectCensus>(many);
    for_each_line(heap_text(report_of(process), 80),
                  [](std::string_view line) { EXPECT_LE(display_width(line), 80U) << line; });
}

TEST(ObjectsText, WithoutAnEarlierCensusItNamesTheContainerThatHoldsMost) {
    ProcessHeap process = leaking_process();
    process.earlier.reset();
    EXPECT_THAT(heap_text(report_of(process), 80),
                StartsWith("`train_epoch (train.py:44) self.activations['layer2']` (list"));
    EXPECT_THAT(heap_text(report_of(process), 80), Not(HasSubstr("CHANGE")));
}

TEST(ObjectsText, OneTypeShowsOnlyItsHolders) {
    HeapReport report = report_of(leaking_process());
    report.type = "Tensor";
    const std::string text = heap_text(report, 80);
    EXPECT_THAT(text, HasSubstr("self.activations['layer2']\n"));
    EXPECT_THAT(text, Not(HasSubstr("__main__.trainer.val_outputs\n")));
    EXPECT_THAT(text, Not(HasSubstr("PART ")));
    report.type = "Nothing";
    EXPECT_THAT(heap_text(report, 80), HasSubstr("no container of type Nothing"));
}

TEST(ObjectsText, HostileNamesArePrintable) {
    ProcessHeap process = leaking_process();
    ObjectCensus bad = *process.census.objects;
    bad.holders[0].path = bad.types[0].type = "a\x1b[2J\nb\xff";
    bad.tensors_refused = "\x1b[2J";
    process.census.objects = std::make_shared<const ObjectCensus>(bad);
    EXPECT_THAT(heap_text(report_of(process), 80), Not(HasSubstr("\x1b")));
    EXPECT_TRUE(nlohmann::json::accept(heap_json(report_of(process))));
}

TEST(ObjectsText, SaysWhoOwnsTheLiveMemoryAndWhatHasNoOwner) {
    ProcessHeap process = leaking_process();
    EXPECT_THAT(heap_text(report_of(process), 100), Not(HasSubstr("owners:"))) << "not known";
    constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
    ObjectCensus objects = *process.census.objects;
    objects.owners = HeapOwners{
        .live = Bytes{1000 * kMiB}, .attributed = Bytes{700 * kMiB}, .probable = Bytes{20 * kMiB}, .read = 0.97};
    objects.garbage = Garbage{.bytes = Bytes{200 * kMiB}, .objects = 4000, .types = {{"m.Awaitable", 1000, Bytes{1}}}};
    objects.native_unreached = NativeUnreached{.bytes = Bytes{80 * kMiB}, .blocks = 5000};
    objects.unexplained = {{"numpy.ndarray float32[3,72,72]", 5824, 5900, Bytes{30 * kMiB}},
                           {"str", 300, 900, Bytes{20000}}};
    process.census.objects = std::make_shared<const ObjectCensus>(objects);
    const std::string text = one_line(heap_text(report_of(process), 200));
    EXPECT_THAT(text, HasSubstr("owners: 700 MiB of 1000 MiB of live memory have a known owner, and 20 MiB are held "
                                "only by references that are not certain; 97 % of it was read"));
    EXPECT_THAT(text, HasSubstr("garbage: 200 MiB in 4,000 objects that only refer to each other, most of it in 1,000 "
                                "Awaitable objects"));
    EXPECT_THAT(text, HasSubstr("unreached: at most 80 MiB in 5,000 blocks of malloc to which nothing refers"));
    EXPECT_THAT(text, HasSubstr("unexplained: 5,824 arrays (float32[3,72,72]) with 5,900 references that were not "
                                "found hold 30 MiB"));
    EXPECT_THAT(text, Not(HasSubstr("strings"))) << "below 1 %";
}

// A target whose trainer leaks, with two censuses.
Snapshot watched() {
    Snapshot snapshot = test::example();
    TargetSnapshot& target = snapshot.targets[0];
    target.heap = {leaking_process()};
    for (ScopeVerdict& verdict : target.verdicts) verdict.holders = holder_sentence(&target.heap[0]);
    return snapshot;
}

TEST(WatchedObjects, ATickHasTheSummaryAndTheSentence) {
    Snapshot snapshot = watched();
    ObjectCensus huge = test::leaked_objects(10);
    huge.holders.resize(4000, test::holder(std::string(200, 'x'), "list", 1, 1));
    snapshot.targets[0].heap[0].census.objects = std::make_shared<const ObjectCensus>(huge);
    const std::string text = tick_json(snapshot, snapshot.targets[0]);
    EXPECT_LT(text.size(), 30'000U) << "a tick must not have megabytes";
    const auto tick = nlohmann::json::parse(text);
    const auto& held = tick["heap"][0]["objects"];
    EXPECT_EQ(held["since_seconds"], 570);
    EXPECT_EQ(held["holders"].size(), 3U);
    EXPECT_THAT(held["sentence"], HasSubstr("val_outputs"));
    EXPECT_THAT(tick["verdicts"][0]["holders"], HasSubstr("val_outputs"));
    EXPECT_TRUE(nlohmann::json::parse(tick_json(test::example(), test::example().targets[0]))["verdicts"][0]["holders"]
                    .is_null());
}

TEST(WatchedObjects, ALineNamesTheHoldersOnceForEachLeak) {
    Snapshot first = test::example();
    Snapshot second = watched();
    second.time += 1;
    second.targets[0].verdicts[0].explanation += " " + second.targets[0].verdicts[0].holders;
    NoticeWriter writer;
    (void)writer.write(nullptr, first);
    const auto lines = writer.write(&first, second);
    ASSERT_EQ(std::ranges::count_if(
                  lines, [](const std::string& line) { return line.find("val_outputs") != std::string::npos; }),
              1);
    Snapshot third = second;
    third.time += 1;
    third.targets[0].verdicts[0].holders += " More.";
    EXPECT_TRUE(writer.write(&second, third).empty());
}

TEST(WatchedObjects, ACommandOfAPrecursorGetsTheHolders) {
    const Snapshot snapshot = watched();
    const ActionFacts facts = precursor_facts(snapshot, snapshot.targets[0], {PrecursorKind::eta, kCensusTime, "soon"});
    EXPECT_THAT(facts.environment,
                testing::Contains(StartsWith("MEMSCOPE_HOLDERS=`__main__.trainer.val_outputs` (list)")));
    const auto json = nlohmann::json::parse(facts.json);
    EXPECT_EQ(json["holders"]["holders"].size(), 3U);
    const Snapshot none = test::example();
    EXPECT_TRUE(nlohmann::json::parse(precursor_facts(none, none.targets[0], {}).json)["holders"].is_null());
}

TEST(WatchedObjects, ADeathReportNamesTheHolders) {
    DeathReport report{.deaths = {Death{.time = kCensusTime + 1, .explanation = "killed"}}, .then = watched()};
    keep_within_bounds(report);
    const std::string story = death_story(report, false);
    EXPECT_THAT(story, HasSubstr("WHAT HELD THE MEMORY"));
    EXPECT_THAT(story, HasSubstr("`__main__.trainer.val_outputs` (list) has grown by"));
    const auto json = nlohmann::json::parse(death_report_json(report));
    EXPECT_THAT(json["holders"]["sentence"], HasSubstr("val_outputs"));
    std::string block;
    for (const std::string& line : death_block(report, "")) block += line + "\n";
    EXPECT_THAT(block, HasSubstr("  holders    `__main__.trainer.val_outputs` (list)"));
    report.then = test::example();
    EXPECT_THAT(death_story(report, false), Not(HasSubstr("WHAT HELD")));
}

}  // namespace objects_text_test
}  // namespace memscope
