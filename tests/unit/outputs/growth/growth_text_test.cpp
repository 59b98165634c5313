#include "outputs/growth/growth_text.h"

#include <gmock/gmock.h>

#include "base/text.h"
#include "growth_example.h"
#include "outputs/text/text_layout.h"

namespace memscope {
namespace growth_text_test {

using testing::HasSubstr;
using testing::Not;

std::string text_of(const GrowthReport& report, std::size_t columns = 100) {
    return growth_text(report, {.columns = columns});
}

TEST(GrowthText, ExplainsEachPlaneAndItsLimits) {
    const std::string text = text_of(test::grown());
    EXPECT_THAT(text, HasSubstr("RESIDENT  1.2 GiB: live memory, where it was first touched"));
    EXPECT_THAT(text, HasSubstr("MAPPED  2.0 GiB: mapped here and not unmapped since"));
    EXPECT_THAT(text, HasSubstr("need not be the owner"));
    EXPECT_THAT(text, Not(HasSubstr("recycled")));
    EXPECT_THAT(text, HasSubstr("700 MiB of mapped files, 13 GiB reserved without access"));
}

TEST(GrowthText, SaysWhatMallocEnlargedAtALineOfTheMappedPlane) {
    GrowthReport report = test::grown();
    GrowthSite& site = report.growth.mapped.sites.at(0);
    site.native = {{"brk", "/lib/libc.so.6", 0x10}};
    EXPECT_THAT(text_of(report), HasSubstr("malloc's main heap, which is recycled: this line need not be the owner"));
    site.native = {{"mprotect", "/lib/libc.so.6", 0x10}};
    EXPECT_THAT(text_of(report), HasSubstr("malloc's heap of a thread, which is recycled, or the stack of a thread"));
    site.native = {{"mmap", "/lib/libc.so.6", 0x10}};
    EXPECT_THAT(text_of(report), Not(HasSubstr("recycled")));
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
                                "                 from train_step (train.py:118) ‹ main (train.py:203) ‹ <module> "
                                "(train.py:240)\n"
                                "                 calls PyObject_Malloc › __memset_generic\n"));
}

TEST(GrowthText, LibraryCodeIsBelowTheLineThatCalledIt) {
    EXPECT_THAT(text_of(test::grown(), 200),
                HasSubstr("/home/ada/job/data.py:66 Images.__getitem__\n"
                          "                 from _worker_loop (worker.py:308) ‹ <module> (train.py:240)\n"
                          "                 calls default_collate (collate.py:398) › stack (functional.py:77) › "
                          "[unmapped]+0x0 › libjpeg.so.62+0x2000\n"));
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

TEST(GrowthText, ARecursionIsOneEntryWithItsCount) {
    GrowthReport report = test::many_sites(1);
    report.growth.resident.sites[0].python.assign(64, {"again", "/job/recursion.py", 3});
    EXPECT_THAT(text_of(report, 80), HasSubstr("from again (recursion.py:3) ×63\n"));
}

TEST(GrowthText, ShowsAllOwnFramesAndCutsLibraryFramesOnly) {
    GrowthReport report = test::many_sites(1);
    auto& python = report.growth.resident.sites[0].python;
    python = {{"keep", "/job/history.py", 41}, {"validate", "/job/train.py", 60}};
    for (int i = 0; i < 7; ++i) python.push_back({"_call_impl", "/opt/lib/python3.11/site-packages/torch/nn.py", i});
    python.push_back({"fit_one_epoch_with_a_long_name", "/job/train.py", 90});
    python.push_back({"main", "/job/train.py", 120});
    const std::string text = text_of(report, 100);
    EXPECT_THAT(text, HasSubstr("from validate (train.py:60) ‹ … 7 library frames … ‹\n"));
    EXPECT_THAT(text, HasSubstr(" fit_one_epoch_with_a_long_name (train.py:90) ‹ main (train.py:120)\n"));
    EXPECT_THAT(text, Not(HasSubstr("_call_impl")));
}

TEST(GrowthText, CutsTheMiddleOfTheCalledFrames) {
    GrowthReport report = test::many_sites(1);
    auto& native = report.growth.resident.sites[0].native;
    native.assign(20, {"at::native::some_function", "/lib/libtorch.so", 1});
    native.front().symbol = "__memset_generic";
    native.back().symbol = "THPVariable_clone";
    EXPECT_THAT(text_of(report, 100), HasSubstr("calls THPVariable_clone › … 18 more … › __memset_generic\n"));
}

TEST(GrowthText, StacksOfOneLineAreOneRowUnlessStacksAreAskedFor) {
    GrowthReport report = test::grown();
    GrowthSite again = report.growth.resident.sites[0];
    again.bytes = 50 * test::kMiB;
    again.python[1] = {"resume", "/home/ada/job/train.py", 7};
    report.growth.resident.sites.push_back(again);
    EXPECT_THAT(text_of(report), HasSubstr("  950 MiB  73 %  trainer 0                1  /home/ada/job/history.py:41"));
    EXPECT_THAT(text_of(report), HasSubstr("and 1 other stack (--stacks shows it)\n"));
    EXPECT_THAT(text_of(report), Not(HasSubstr("resume")));
    report.stacks = true;
    EXPECT_THAT(text_of(report), HasSubstr("what grew since watching began, by stack"));
    EXPECT_THAT(text_of(report), HasSubstr("from resume (train.py:7)"));
    EXPECT_THAT(text_of(report), HasSubstr("  900 MiB  69 %  "));
}

TEST(GrowthText, BeginsWithTheSentenceAndSaysSinceWhen) {
    GrowthReport report = test::grown();
    report.growth.sentence = "validate (train.py:60) keeps 114 MiB more than 10 min ago.";
    report.growth.span.since = Seconds{580};
    const std::string text = text_of(report);
    EXPECT_THAT(text, testing::StartsWith("validate (train.py:60) keeps 114 MiB more than 10 min ago.\n\n"));
    EXPECT_THAT(text, HasSubstr("train  what grew since 9 min 40 s ago, by own line\n"));
}

TEST(GrowthText, SaysHowResidentGrowthWasMeasured) {
    GrowthReport report = test::grown();
    report.growth.resident_method = ResidentMethod::first_touch;
    EXPECT_THAT(text_of(report), HasSubstr("first touch, frees not matched"));
    report.growth.resident_method = ResidentMethod::none;
    EXPECT_THAT(text_of(report), HasSubstr("not known with --no-maps"));
}

TEST(GrowthText, NoShareIsAbove100Percent) {
    GrowthReport report = test::grown();
    report.growth.resident.unattributed = {{"before", -1000 * test::kMiB}};
    EXPECT_THAT(text_of(report), HasSubstr("  900 MiB  73 %  "));
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

TEST(GrowthText, ReportsThatNothingGrew) { EXPECT_THAT(text_of({}), HasSubstr("  nothing\n")); }

TEST(GrowthText, TenThousandSitesAreBounded) {
    GrowthReport report = test::many_sites(10'000);
    report.top = 20;
    const std::string text = text_of(report);
    EXPECT_LT(text.size(), 20'000U);
    EXPECT_THAT(text, HasSubstr("at 9980 more call sites"));
}

}  // namespace growth_text_test
}  // namespace memscope
