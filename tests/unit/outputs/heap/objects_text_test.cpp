#include "outputs/heap/objects_text.h"

#include <gmock/gmock.h>

#include "analysis/heap/held_objects.h"
#include "analysis/heap/holder_sentence.h"
#include "base/text.h"
#include "example.h"
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

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr double kNow = 1760000000.5;

ObjectCensus objects(std::uint64_t length) {
    ObjectCensus census = test::outputs_of(length, kMiB / 10);
    census.tensors = {{"cuda:0", "float32", {1, 128, 512}, false, length, Bytes{length * 256 * 1024}},
                      {"cpu", "float32", {50, 8}, true, 3, Bytes{4800}}};
    census.tensor_totals = {{"cuda:0", length, length, Bytes{length * 256 * 1024}}, {"cpu", 3, 3, Bytes{4800}}};
    census.arrays = {{"uint8", {64, 32}, 10, Bytes{20480}}};
    Holder on_gpu = test::holder("train_epoch (train.py:44) self.activations['layer2']", "list", length, 4096, 0,
                                 "torch.Tensor cuda:0 float32[1,128,512]");
    on_gpu.root = HolderRoot::frame;
    on_gpu.retained_device = Bytes{length * 256 * 1024};
    on_gpu.other_holders = 2;
    census.holders.push_back(on_gpu);
    census.references_explained = 0.97;
    return census;
}

ProcessHeap leaking() {
    ProcessHeap process{.role = {Role::trainer, 0}};
    process.earlier = test::with_objects(kNow - 600, Bytes{500 * kMiB}, objects(1000));
    process.census = test::with_objects(kNow - 30, Bytes{1000 * kMiB}, objects(6000));
    process.earlier->process = process.census.process = {101, 101000};
    process.held = held_objects(process.census, &*process.earlier);
    return process;
}

HeapReport report_of(ProcessHeap process, std::size_t top = 5) {
    return {.time = kNow, .target = {}, .processes = {std::move(process)}, .top = top};
}

nlohmann::json json_of(const HeapReport& report) { return nlohmann::json::parse(heap_json(report))["processes"][0]; }

TEST(ObjectsJson, HasTheFieldsOfTheContract) {
    const auto json = json_of(report_of(leaking()));
    EXPECT_EQ(json["types"][0]["type"], "tuple");
    EXPECT_EQ(json["types"][0]["count"], 6000);
    EXPECT_EQ(json["types"][0]["count_change"], 5000);
    EXPECT_EQ(json["types"][0]["bytes"], 6000 * (kMiB / 10));
    EXPECT_EQ(json["types"][0]["bytes_change"], 5000 * (kMiB / 10));
    const auto& tensor = json["tensors"][0];
    EXPECT_EQ(tensor["device"], "cuda:0");
    EXPECT_EQ(tensor["dtype"], "float32");
    EXPECT_EQ(tensor["shape"], (std::vector{1, 128, 512}));
    EXPECT_EQ(tensor["count_change"], 5000);
    EXPECT_EQ(json["tensors"][1]["only_native"], true);
    EXPECT_EQ(json["tensor_totals"][0]["device"], "cuda:0");
    EXPECT_EQ(json["tensor_totals"][0]["bytes"], std::uint64_t{6000} * 256 * 1024);
    EXPECT_EQ(json["arrays"][0]["shape"], (std::vector{64, 32}));
    EXPECT_EQ(json["arrays"][0]["count_change"], 0);
    const auto& holder = json["holders"][0];
    EXPECT_EQ(holder["path"], "train_epoch (train.py:44) self.activations['layer2']");
    EXPECT_EQ(holder["root"], "frame");
    EXPECT_EQ(holder["type"], "list");
    EXPECT_EQ(holder["element"], "torch.Tensor cuda:0 float32[1,128,512]");
    EXPECT_EQ(holder["length"], 6000);
    EXPECT_EQ(holder["length_change"], 5000);
    EXPECT_EQ(holder["retained_bytes"], 4096);
    EXPECT_EQ(holder["retained_change"], 0);
    EXPECT_EQ(holder["retained_device_change"], std::int64_t{5000} * 256 * 1024);
    EXPECT_EQ(holder["other_holders"], 2);
    EXPECT_EQ(json["references_explained"], 0.97);
    EXPECT_TRUE(json["refused"].is_null());
}

TEST(ObjectsJson, AForkedProcessHasTheMemoryThatItSharesWithItsParent) {
    EXPECT_TRUE(json_of(report_of(leaking()))["inherited_bytes"].is_null());
    ProcessHeap process = leaking();
    ObjectCensus forked = *process.census.objects;
    forked.inherited = Bytes{300 * kMiB};
    process.census.objects = std::make_shared<const ObjectCensus>(forked);
    EXPECT_EQ(json_of(report_of(process))["inherited_bytes"], 300 * kMiB);
    EXPECT_THAT(objects_text(process, 5, {}, 100), HasSubstr("the 300 MiB that it still shares with its parent"));
    EXPECT_THAT(objects_text(leaking(), 5, {}, 100), Not(HasSubstr("parent")));
}

TEST(ObjectsJson, WithoutPythonTheListsAreEmpty) {
    ProcessHeap process = leaking();
    process.census.objects.reset();
    const auto json = json_of(report_of(process));
    for (const char* list : {"types", "tensors", "tensor_totals", "arrays", "holders"}) {
        EXPECT_TRUE(json[list].is_array()) << list;
        EXPECT_TRUE(json[list].empty()) << list;
    }
    EXPECT_TRUE(json["objects"].is_null());
}

TEST(ObjectsJson, WithoutAnEarlierCensusChangesAreNull) {
    ProcessHeap process = leaking();
    process.earlier.reset();
    const auto json = json_of(report_of(process));
    EXPECT_TRUE(json["holders"][0]["length_change"].is_null());
    EXPECT_TRUE(json["types"][0]["count_change"].is_null());
}

TEST(ObjectsJson, TopBoundsEachListAndTypeFiltersHolders) {
    EXPECT_EQ(json_of(report_of(leaking(), 1))["holders"].size(), 1U);
    HeapReport report = report_of(leaking());
    report.type = "Tensor";
    const auto json = json_of(report);
    ASSERT_EQ(json["holders"].size(), 1U);
    EXPECT_EQ(json["holders"][0]["length"], 6000);
    EXPECT_TRUE(json["types"].empty());
}

TEST(ObjectsJson, ARefusalIsNamed) {
    ProcessHeap process{.census = test::with_objects(kNow, Bytes{1}, {.refusal = ObjectsRefusal::free_threaded})};
    EXPECT_EQ(json_of(report_of(process))["refused"], "free_threaded");
    EXPECT_THAT(heap_text(report_of(process), 80),
                StartsWith("The Python objects were not read: this is a free-threaded"));
}

// Without the line breaks of its layout.
std::string one_line(std::string text) {
    std::ranges::replace(text, '\n', ' ');
    return text;
}

TEST(ObjectsText, BeginsWithTheAnswerAndHasHoldersFirst) {
    const std::string text = heap_text(report_of(leaking()), 80);
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
    ProcessHeap process = leaking();
    ObjectCensus many = *process.census.objects;
    many.holders[0].path = std::string(500, 'x');
    many.holders[0].length = 123'456'789;
    many.types[0].type = std::string(300, 'y');
    process.census.objects = std::make_shared<const ObjectCensus>(many);
    for_each_line(heap_text(report_of(process), 80),
                  [](std::string_view line) { EXPECT_LE(display_width(line), 80U) << line; });
}

TEST(ObjectsText, WithoutAnEarlierCensusItNamesTheContainerThatHoldsMost) {
    ProcessHeap process = leaking();
    process.earlier.reset();
    EXPECT_THAT(heap_text(report_of(process), 80),
                StartsWith("`train_epoch (train.py:44) self.activations['layer2']` (list"));
    EXPECT_THAT(heap_text(report_of(process), 80), Not(HasSubstr("CHANGE")));
}

TEST(ObjectsText, OneTypeShowsOnlyItsHolders) {
    HeapReport report = report_of(leaking());
    report.type = "Tensor";
    const std::string text = heap_text(report, 80);
    EXPECT_THAT(text, HasSubstr("self.activations['layer2']\n"));
    EXPECT_THAT(text, Not(HasSubstr("__main__.trainer.val_outputs\n")));
    EXPECT_THAT(text, Not(HasSubstr("PART ")));
    report.type = "Nothing";
    EXPECT_THAT(heap_text(report, 80), HasSubstr("no container of type Nothing"));
}

TEST(ObjectsText, HostileNamesArePrintable) {
    ProcessHeap process = leaking();
    ObjectCensus bad = *process.census.objects;
    bad.holders[0].path = bad.types[0].type = "a\x1b[2J\nb\xff";
    bad.tensors_refused = "\x1b[2J";
    process.census.objects = std::make_shared<const ObjectCensus>(bad);
    EXPECT_THAT(heap_text(report_of(process), 80), Not(HasSubstr("\x1b")));
    EXPECT_NO_THROW((void)json_of(report_of(process)));
}

// A target whose trainer leaks, with two censuses.
Snapshot watched() {
    Snapshot snapshot = test::example();
    TargetSnapshot& target = snapshot.targets[0];
    target.heap = {leaking()};
    for (ScopeVerdict& verdict : target.verdicts) verdict.holders = holder_sentence(&target.heap[0]);
    return snapshot;
}

TEST(WatchedObjects, ATickHasTheSummaryAndTheSentence) {
    Snapshot snapshot = watched();
    ObjectCensus huge = objects(10);
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
    const ActionFacts facts = precursor_facts(snapshot, snapshot.targets[0], {PrecursorKind::eta, kNow, "soon"});
    EXPECT_THAT(facts.environment,
                testing::Contains(StartsWith("MEMSCOPE_HOLDERS=`__main__.trainer.val_outputs` (list)")));
    const auto json = nlohmann::json::parse(facts.json);
    EXPECT_EQ(json["holders"]["holders"].size(), 3U);
    const Snapshot none = test::example();
    EXPECT_TRUE(nlohmann::json::parse(precursor_facts(none, none.targets[0], {}).json)["holders"].is_null());
}

TEST(WatchedObjects, ADeathReportNamesTheHolders) {
    DeathReport report{.deaths = {Death{.time = kNow + 1, .explanation = "killed"}}, .then = watched()};
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
