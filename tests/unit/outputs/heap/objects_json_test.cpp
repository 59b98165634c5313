#include "outputs/heap/objects_json.h"

#include <gmock/gmock.h>

#include "heap_example.h"
#include "outputs/heap/heap_json.h"
#include "outputs/heap/heap_text.h"
#include "outputs/heap/objects_text.h"
#include "support/fake_objects.h"
#include "support/json.h"

namespace memscope {
namespace objects_json_test {

using test::kCensusTime;
using test::kHeapMiB;
using test::leaking_process;
using test::report_of;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

nlohmann::json json_of(const HeapReport& report) { return nlohmann::json::parse(heap_json(report))["processes"][0]; }

TEST(ObjectsJson, HasTheFieldsOfTheContract) {
    const auto json = json_of(report_of(leaking_process()));
    EXPECT_EQ(json["types"][0]["type"], "tuple");
    EXPECT_EQ(json["types"][0]["count"], 6000);
    EXPECT_EQ(json["types"][0]["count_change"], 5000);
    EXPECT_EQ(json["types"][0]["bytes"], 6000 * (kHeapMiB / 10));
    EXPECT_EQ(json["types"][0]["bytes_change"], 5000 * (kHeapMiB / 10));
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
    EXPECT_TRUE(json_of(report_of(leaking_process()))["inherited_bytes"].is_null());
    ProcessHeap process = leaking_process();
    ObjectCensus forked = *process.census.objects;
    forked.inherited = Bytes{300 * kHeapMiB};
    process.census.objects = std::make_shared<const ObjectCensus>(forked);
    EXPECT_EQ(json_of(report_of(process))["inherited_bytes"], 300 * kHeapMiB);
    EXPECT_THAT(objects_text(process, 5, {}, 100), HasSubstr("the 300 MiB that it still shares with its parent"));
    EXPECT_THAT(objects_text(leaking_process(), 5, {}, 100), Not(HasSubstr("parent")));
}

TEST(ObjectsJson, HasOwnersAndMemoryWithoutOwnersAndNullWhereTheyAreNotKnown) {
    const auto unknown = json_of(report_of(leaking_process()));
    for (const char* key : {"live_bytes", "attributed_bytes", "probable_bytes", "read_share", "native_unreached",
                            "garbage", "unexplained_references"}) {
        EXPECT_TRUE(unknown.contains(key)) << key;
        EXPECT_TRUE(unknown[key].is_null()) << key;
    }
    ProcessHeap process = leaking_process();
    ObjectCensus objects = *process.census.objects;
    objects.owners = HeapOwners{.live = Bytes{1000}, .attributed = Bytes{700}, .probable = Bytes{20}, .read = 0.97};
    objects.garbage =
        Garbage{.bytes = Bytes{200}, .objects = 40, .types = {{"m.Awaitable", 10, Bytes{150}}}, .through_native = true};
    objects.native_unreached =
        NativeUnreached{.bytes = Bytes{80},
                        .blocks = 5,
                        .groups = {{"", Bytes{24}, 3, Bytes{60}}, {"ocr::Page", Bytes{40}, 1, Bytes{9}}}};
    objects.unexplained = {{"str", 300, 900, Bytes{20000}}};
    process.census.objects = std::make_shared<const ObjectCensus>(objects);
    const auto json = json_of(report_of(process));
    EXPECT_EQ(json["live_bytes"], 1000);
    EXPECT_EQ(json["attributed_bytes"], 700);
    EXPECT_EQ(json["probable_bytes"], 20);
    EXPECT_EQ(json["read_share"], 0.97);
    EXPECT_EQ(json["garbage"]["bytes"], 200);
    EXPECT_EQ(json["garbage"]["types"][0]["type"], "m.Awaitable");
    EXPECT_EQ(json["garbage"]["through_native"], true);
    EXPECT_EQ(json["native_unreached"]["blocks"], 5);
    EXPECT_EQ(json["native_unreached"]["sizes"][0]["size"], 24);
    ASSERT_EQ(json["native_unreached"]["types"].size(), 1U) << "only classes that are known";
    EXPECT_EQ(json["native_unreached"]["types"][0]["type"], "ocr::Page");
    EXPECT_EQ(json["unexplained_references"][0]["references"], 900);
}

TEST(ObjectsJson, HoldersHaveTheirKindAndTheirCurve) {
    ProcessHeap process = leaking_process();
    const auto json = json_of(report_of(process));
    EXPECT_EQ(json["holders"][0]["kind"], "container");
    EXPECT_NEAR(json["holders"][0]["items_per_second"].get<double>(), 5000.0 / 570, 1e-9);
    EXPECT_EQ(json["holders"][0]["first_seen_seconds"], kCensusTime - 600);
    process.earlier.reset();
    const auto first = json_of(report_of(process));
    EXPECT_TRUE(first["holders"][0]["items_per_second"].is_null()) << "one reading";
    EXPECT_TRUE(first["holders"][0]["first_seen_seconds"].is_null());
    ObjectCensus objects = *process.census.objects;
    for (Holder& each : objects.holders) each.address = 0x7000;
    process.census.objects = std::make_shared<const ObjectCensus>(objects);
    for (HolderChange& each : process.held->holders) {
        each.holder.address = 0x7000;
        each.items_per_second = 2.5;
        each.first_seen = 77;
    }
    const auto polled = json_of(report_of(process));
    EXPECT_EQ(polled["holders"][0]["items_per_second"], 2.5) << "the watcher has read its length";
    EXPECT_EQ(polled["holders"][0]["first_seen_seconds"], 77);
}

TEST(ObjectsJson, WithoutPythonTheListsAreEmpty) {
    ProcessHeap process = leaking_process();
    process.census.objects.reset();
    const auto json = json_of(report_of(process));
    for (const char* list : {"types", "tensors", "tensor_totals", "arrays", "holders"}) {
        EXPECT_TRUE(json[list].is_array()) << list;
        EXPECT_TRUE(json[list].empty()) << list;
    }
    EXPECT_TRUE(json["objects"].is_null());
}

TEST(ObjectsJson, WithoutAnEarlierCensusChangesAreNull) {
    ProcessHeap process = leaking_process();
    process.earlier.reset();
    const auto json = json_of(report_of(process));
    EXPECT_TRUE(json["holders"][0]["length_change"].is_null());
    EXPECT_TRUE(json["types"][0]["count_change"].is_null());
}

TEST(ObjectsJson, TopBoundsEachListAndTypeFiltersHolders) {
    EXPECT_EQ(json_of(report_of(leaking_process(), 1))["holders"].size(), 1U);
    HeapReport report = report_of(leaking_process());
    report.type = "Tensor";
    const auto json = json_of(report);
    ASSERT_EQ(json["holders"].size(), 1U);
    EXPECT_EQ(json["holders"][0]["length"], 6000);
    EXPECT_TRUE(json["types"].empty());
}

TEST(ObjectsJson, ARefusalIsNamed) {
    ProcessHeap process{.census =
                            test::with_objects(kCensusTime, Bytes{1}, {.refusal = ObjectsRefusal::free_threaded})};
    EXPECT_EQ(json_of(report_of(process))["refused"], "free_threaded");
    EXPECT_THAT(heap_text(report_of(process), 80),
                StartsWith("The Python objects were not read: this is a free-threaded"));
}

}  // namespace objects_json_test
}  // namespace memscope
