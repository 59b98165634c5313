#include "analysis/growth/attribution.h"

#include <gtest/gtest.h>

namespace memscope {
namespace {

GrowthSite site(std::int64_t bytes, pid_t pid, int line, std::uint64_t offset = 0, const char* symbol = "memset") {
    return {.bytes = bytes,
            .role = {Role::trainer, 0},
            .pids = {pid},
            .python = {{"step", "train.py", line}},
            .native = {{symbol, "/lib/libc.so.6", offset}}};
}

TEST(MergedSites, AreOneWhereverInAFunctionTheyStand) {
    const auto merged = merged_sites({site(100, 7, 11, 0x10), site(200, 8, 11, 0x20), site(50, 7, 11, 0x30)});
    ASSERT_EQ(merged.size(), 1U);
    EXPECT_EQ(merged[0].bytes, 350);
    EXPECT_EQ(merged[0].pids, (std::vector<pid_t>{7, 8}));
}

TEST(MergedSites, StayApartByLineRoleAndFunction) {
    GrowthSite worker = site(1, 7, 11);
    worker.role = {Role::dataloader_worker, {}};
    EXPECT_EQ(merged_sites({site(1, 7, 11), site(1, 7, 12), site(1, 7, 11, 0, "memcpy"), worker}).size(), 4U);
}

TEST(MergedSites, WithoutASymbolStayApartByPlace) {
    EXPECT_EQ(merged_sites({site(1, 7, 11, 0x10, ""), site(1, 7, 11, 0x20, "")}).size(), 2U);
    EXPECT_EQ(merged_sites({site(1, 7, 11, 0x10, ""), site(1, 7, 11, 0x10, "")}).size(), 1U);
}

TEST(MergedSites, StandLargestFirstWithWhatWasGivenBackAtTheEnd) {
    const auto merged = merged_sites({site(-5, 7, 1), site(10, 7, 2), site(30, 7, 3)});
    ASSERT_EQ(merged.size(), 3U);
    EXPECT_EQ(merged[0].bytes, 30);
    EXPECT_EQ(merged[2].bytes, -5);
}

TEST(MergedSites, LeaveOutWhatCameToNothing) { EXPECT_TRUE(merged_sites({site(10, 7, 1), site(-10, 7, 1)}).empty()); }

TEST(SitesMergedByLine, AreOneWhateverNativeCodeTheyCalled) {
    const auto merged = merged_by_line({site(300, 7, 11, 0, "memset"), site(100, 8, 11, 0, "memcpy"), site(50, 7, 12)});
    ASSERT_EQ(merged.size(), 2U);
    EXPECT_EQ(merged[0].bytes, 400);
    EXPECT_EQ(merged[0].native.front().symbol, "memset") << "the native frames of the largest site";
    EXPECT_EQ(merged[0].pids, (std::vector<pid_t>{7, 8}));
}

TEST(SitesMergedByLine, WithoutPythonStayAsTheyAre) {
    GrowthSite a = site(300, 7, 11);
    GrowthSite b = site(100, 7, 11, 0, "memcpy");
    a.python.clear();
    b.python.clear();
    EXPECT_EQ(merged_by_line({a, b}).size(), 2U);
}

std::vector<PythonFrame> frames(std::initializer_list<const char*> files) {
    std::vector<PythonFrame> frames;
    for (const char* file : files) frames.push_back({"f", file, 1});
    return frames;
}

TEST(TellingFrame, IsTheInnermostOfPeoplesOwnCode) {
    const auto stack = frames({"/usr/lib/python3/dist-packages/numpy/core/numeric.py", "<frozen importlib._bootstrap>",
                               "/home/me/data.py", "/home/me/train.py"});
    EXPECT_EQ(telling_frame(stack)->file, "/home/me/data.py");
    const auto all_in_libraries =
        frames({"/opt/env/lib/python3.12/site-packages/torch/utils.py", "/usr/lib/python3.12/runpy.py"});
    EXPECT_EQ(telling_frame(all_in_libraries), &all_in_libraries.front());
    EXPECT_EQ(telling_frame({}), nullptr);
}

}  // namespace
}  // namespace memscope
