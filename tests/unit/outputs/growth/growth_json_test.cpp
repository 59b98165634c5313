#include "outputs/growth/growth_json.h"

#include <gmock/gmock.h>

#include "growth_example.h"
#include "support/json.h"

namespace memscope {
namespace growth_json_test {

using Json = nlohmann::json;

Json json_of(const GrowthReport& report) { return Json::parse(growth_json(report)); }

TEST(GrowthJson, HasTheKeysOfTheContract) {
    const Json json = json_of(test::grown());
    EXPECT_EQ(json["time"], 1760000000.5);
    EXPECT_EQ(json["target"]["name"], "train");
    const Json& site = json["resident"][0];
    EXPECT_EQ(site["bytes"], 900 * test::kMiB);
    EXPECT_EQ(site["role"], "trainer");
    EXPECT_EQ(site["rank"], 0);
    EXPECT_EQ(site["pids"], Json({101}));
    EXPECT_EQ(site["python"][0],
              Json({{"function", "History.append"}, {"file", "/home/ada/job/history.py"}, {"line", 41}}));
    EXPECT_EQ(site["native"][0],
              Json({{"symbol", "__memset_generic"}, {"module", "/usr/lib/libc.so.6"}, {"offset", 0x98f00}}));
    EXPECT_EQ(json["mapped"][0]["bytes"], 2048 * test::kMiB);
    EXPECT_EQ(json["apart"],
              Json({{"file_mapped_bytes", 700 * test::kMiB}, {"reserved_bytes", std::int64_t{13} << 30U}}));
}

TEST(GrowthJson, HasTheTimeSpanAndThePeakTime) {
    GrowthReport report = test::grown();
    Json json = json_of(report);
    EXPECT_TRUE(json["since_seconds"].is_null());
    EXPECT_EQ(json["at"], "now");
    EXPECT_TRUE(json["owner"].is_null());
    report.growth.span = {.since = Seconds{580}, .after_warmup = false, .peak = 1759999000.0};
    report.growth.sentence = "It is known.";
    report.growth.owner = GrowthOwner{.plane = PlaneKind::tensors_host, .place = "validate (train.py:60)", .bytes = 7};
    json = json_of(report);
    EXPECT_EQ(json["since_seconds"], 580);
    EXPECT_EQ(json["at"], "peak");
    EXPECT_EQ(json["time"], 1759999000.0);
    EXPECT_EQ(json["sentence"], "It is known.");
    EXPECT_EQ(json["owner"]["plane"], "tensors_host");
    EXPECT_EQ(json["owner"]["line"], "validate (train.py:60)");
}

TEST(GrowthJson, AbsentIsNullNeverZero) {
    const Json json = json_of(test::grown());
    EXPECT_TRUE(json["resident"][2]["rank"].is_null());
    EXPECT_TRUE(json["resident"][2]["python"].empty());
    EXPECT_TRUE(json["resident"][3]["python"][1]["line"].is_null());
    EXPECT_TRUE(json["resident"][1]["native"][0]["symbol"].is_null());
    EXPECT_TRUE(json["resident"][1]["native"][1]["module"].is_null());
}

TEST(GrowthJson, ListsUnattributedGrowthWithItsReason) {
    EXPECT_EQ(json_of(test::grown())["unattributed"],
              Json({{{"plane", "resident"}, {"reason", "external"}, {"bytes", -3 * test::kMiB}},
                    {{"plane", "resident"}, {"reason", "other"}, {"bytes", 12 * test::kMiB}},
                    {{"plane", "mapped"}, {"reason", "exited"}, {"bytes", 5 * test::kMiB}}}));
}

TEST(GrowthJson, SitesBeyondTheTopAreSummed) {
    GrowthReport report = test::grown();
    report.top = 1;
    const Json json = json_of(report);
    EXPECT_EQ(json["resident"].size(), 1);
    EXPECT_EQ(json["mapped"].size(), 1);
    EXPECT_EQ(json["left_out"]["resident"], Json({{"sites", 3}, {"bytes", (300 + 40 - 8) * test::kMiB}}));
    EXPECT_EQ(json["left_out"]["mapped"], Json({{"sites", 0}, {"bytes", 0}}));
}

TEST(GrowthJson, WithoutGrowthTheListsAreEmpty) {
    const Json json = json_of({});
    for (const char* list : {"resident", "mapped", "gpu", "pinned", "unattributed"})
        EXPECT_EQ(json[list], Json::array()) << list;
    EXPECT_EQ(json["left_out"]["resident"]["sites"], 0);
}

TEST(GrowthJson, HostileNamesStayText) {
    const std::string text = growth_json(test::hostile_growth());
    EXPECT_EQ(text.find('\n'), std::string::npos);
    const Json json = Json::parse(text);
    EXPECT_EQ(json["target"]["name"], "a\n\x1b[31mb\xEF\xBF\xBD");
    EXPECT_EQ(json["resident"][0]["python"][0]["file"], "/tmp/\xEF\xBF\xBD\xEF\xBF\xBD;\r\n.py");
    EXPECT_TRUE(json["resident"][0]["python"][1]["line"].is_null());
    EXPECT_EQ(json["resident"][0]["native"][0]["offset"], ~std::uint64_t{0});
    EXPECT_EQ(json["resident"][1]["bytes"], INT64_MIN);
    GrowthReport none = test::hostile_growth();
    none.top = 0;
    EXPECT_EQ(json_of(none)["left_out"]["mapped"]["bytes"], INT64_MAX) << "a sum that does not fit stays in range";
}

TEST(GrowthJson, TenThousandSitesAreAllThere) {
    const Json json = json_of(test::many_sites(10'000));
    EXPECT_EQ(json["resident"].size(), 10'000);
    EXPECT_EQ(json["left_out"]["resident"]["sites"], 0);
}

TEST(GrowthReport, SitesWhoseNamesAreTooLargeForAnAnswerAreCounted) {
    GrowthReport report = test::many_sites(100);
    for (GrowthSite& site : report.growth.resident.sites) site.python[0].function.assign(1 << 20U, 'f');
    const ShownSites shown = shown_sites(report.growth.resident, {});
    EXPECT_EQ(shown.sites.size(), 11U) << "12 MiB of them";
    EXPECT_EQ(shown.left_out, 89U);
    EXPECT_EQ(shown.left_out_bytes, 4096 * 89 * 90 / 2);
}

}  // namespace growth_json_test
}  // namespace memscope
