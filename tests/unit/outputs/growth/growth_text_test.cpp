#include "outputs/growth/growth_text.h"

#include <gmock/gmock.h>

#include "base/text.h"
#include "growth_example.h"
#include "outputs/text/text_layout.h"

namespace memscope {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string text_of(const GrowthReport& report, std::size_t columns = 100) {
    return growth_text(report, {.columns = columns});
}

TEST(GrowthText, ExplainsEachPlaneAndItsLimits) {
    const std::string text = text_of(test::grown());
    EXPECT_THAT(text, HasSubstr("RESIDENT  1.2 GiB: where memory was first touched"));
    EXPECT_THAT(text, HasSubstr("MAPPED  2.0 GiB: mapped here and not unmapped since"));
    EXPECT_THAT(text, HasSubstr("causes no page fault"));
    EXPECT_THAT(text, HasSubstr("700 MiB of mapped files, 13 GiB reserved without access"));
}

TEST(GrowthText, HasPlanesOfGpusOnlyIfTheyAreNotEmpty) {
    GrowthReport report = test::grown();
    EXPECT_THAT(text_of(report), Not(HasSubstr("GPU  ")));
    report.growth.gpu = report.growth.mapped;
    report.growth.pinned.unattributed = {{"no_room", test::kMiB}};
    EXPECT_THAT(text_of(report), HasSubstr("GPU  2.0 GiB: allocated here from the CUDA driver"));
    EXPECT_THAT(text_of(report), HasSubstr("no_room: in more allocations than can be recorded"));
}

TEST(GrowthText, TheUsersOwnLineComesFirstWithItsCallersBelow) {
    const std::string text = text_of(test::grown());
    EXPECT_THAT(text, HasSubstr("  900 MiB  72 %  trainer 0                1  /home/ada/job/history.py:41 "
                                "History.append\n"
                                "                 calls PyObject_Malloc › __memset_generic\n"
                                "                 from train_step (train.py:118) ‹ main (train.py:203) ‹ <module> "
                                "(train.py:240)\n"));
}

TEST(GrowthText, LibraryCodeIsBelowTheLineThatCalledIt) {
    EXPECT_THAT(text_of(test::grown(), 200),
                HasSubstr("/home/ada/job/data.py:66 Images.__getitem__\n"
                          "                 calls default_collate (collate.py:398) › stack (functional.py:77) › "
                          "[unmapped]+0x0 › libjpeg.so.62+0x2000\n"
                          "                 from _worker_loop (worker.py:308) ‹ <module> (train.py:240)\n"
                          "                 200 MiB of it in processes that have ended\n"));
}

TEST(GrowthText, LibraryCodeAloneIsShownAsItIs) {
    GrowthReport report = test::grown();
    report.growth.resident.sites[1].python.resize(2);
    EXPECT_THAT(text_of(report, 200), HasSubstr("torch/functional.py:77 stack\n"));
}

TEST(GrowthText, CutsThePathBeforeTheFunction) {
    const GrowthSite site = test::grown().growth.resident.sites[0];
    EXPECT_EQ(site_line(site, 42), "/home/ada/job/history.py:41 History.append");
    EXPECT_EQ(site_line(site, 41), "…/ada/job/history.py:41 History.append");
    EXPECT_EQ(site_line(site, 30), "…/history.py:41 History.append");
    EXPECT_EQ(site_line(site, 25), "…/history.py:41 History.…");
    EXPECT_EQ(site_line(site, 8), "history…");
}

TEST(GrowthText, ListsGrowthWithoutAShownStack) {
    GrowthReport report = test::grown();
    report.top = 1;
    const std::string text = text_of(report);
    EXPECT_THAT(text, HasSubstr("332 MiB  at 3 more call sites"));
    EXPECT_THAT(text, HasSubstr("12 MiB  not attributed, other: at more different stacks than can be recorded"));
    EXPECT_THAT(text, HasSubstr("-3.0 MiB  not attributed, external: changed by the kernel"));
}

TEST(GrowthText, ExplainsShortNativeStacksOnce) {
    EXPECT_THAT(text_of(test::grown()), HasSubstr("frame pointers"));
    GrowthReport report = test::grown();
    report.growth.resident.sites.erase(report.growth.resident.sites.begin() + 2);
    EXPECT_THAT(text_of(report), Not(HasSubstr("frame pointers")));
}

TEST(GrowthText, DeepStacksAreShortened) {
    GrowthReport report = test::many_sites(1);
    report.growth.resident.sites[0].python.assign(64, {"again", "/job/recursion.py", 3});
    EXPECT_THAT(text_of(report, 80), testing::ContainsRegex("‹ … [0-9]+ more\n"));
}

TEST(GrowthText, ColourOnlyWhereItIsWanted) {
    EXPECT_THAT(text_of(test::grown()), Not(HasSubstr("\x1b")));
    const std::string painted = growth_text(test::grown(), {.columns = 100, .colour = true});
    EXPECT_THAT(painted, HasSubstr("\x1b[2mcalls PyObject_Malloc › __memset_generic\x1b[0m"));
    EXPECT_THAT(painted, HasSubstr("\x1b[1m/home/ada/job/history.py:41 History.append\x1b[0m"));
}

TEST(GrowthText, FitsEveryWidthAndIsPrintable) {
    for (const auto& report : {test::grown(), test::hostile_growth(), GrowthReport{}, test::many_sites(3)})
        for (const std::size_t columns : {0, 40, 41, 60, 72, 80, 81, 99, 132, 500, 100'000}) {
            const std::string text = text_of(report, columns);
            EXPECT_EQ(printable(text).find("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"), std::string::npos);
            for_each_line(text, [&](std::string_view line) {
                EXPECT_LE(display_width(line), std::clamp<std::size_t>(columns, 40, 500)) << line;
                EXPECT_EQ(printable(line), line);
            });
        }
}

TEST(GrowthText, NothingGrewIsSaid) { EXPECT_THAT(text_of({}), HasSubstr("nothing so far")); }

TEST(GrowthText, TenThousandSitesAreBounded) {
    GrowthReport report = test::many_sites(10'000);
    report.top = 20;
    const std::string text = text_of(report);
    EXPECT_LT(text.size(), 20'000U);
    EXPECT_THAT(text, HasSubstr("at 9980 more call sites"));
}

}  // namespace
}  // namespace memscope
