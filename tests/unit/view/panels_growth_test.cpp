#include <gmock/gmock.h>

#include "example.h"
#include "view/panels.h"

namespace memscope::view {
namespace panels_growth_test {

using test::Screen;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Code = Key::Code;

constexpr std::int64_t kMiB = std::int64_t{1} << 20U;

GrowthSite site(std::int64_t bytes, Role role, const char* function, int line) {
    return {.bytes = bytes, .role = {role, {}}, .pids = {1}, .python = {{function, "/job/train.py", line}}};
}

Growth grown() {
    Growth growth;
    growth.resident.sites = {site(80 * kMiB, Role::dataloader_worker, "decode", 7)};
    for (int line = 1; line <= 7; ++line)
        growth.resident.sites.push_back(site((70 - line) * kMiB, Role::trainer, "step", line));
    growth.resident.unattributed = {{"other", 3 * kMiB}, {"external", 0}};
    growth.sentence = "validate (train.py:60) keeps 114 MiB more than 10 min ago.";
    growth.span.since = Seconds{600};
    growth.mapped.sites = {site(512 * kMiB, Role::trainer, "buffers", 99)};
    return growth;
}

std::vector<std::string> text_of(const std::vector<Line>& lines) {
    std::vector<std::string> out;
    for (const Line& line : lines) out.push_back(line.text());
    return out;
}

TEST(ViewGrowth, HasTheLargestSitesOfEachRoleLargestRoleFirst) {
    const Growth growth = grown();
    EXPECT_THAT(text_of(growth_panel(&growth, GrowthPanel::resident, 1000, 80)),
                ElementsAre(" validate (train.py:60) keeps 114 MiB more than 10 min ago.",
                            " RESIDENT  live memory, where it was first touched, since 10 min ago (t)",
                            "   462 MiB  trainer",                   //
                            "    69 MiB    /job/train.py:1 step",    //
                            "    68 MiB    /job/train.py:2 step",    //
                            "    67 MiB    /job/train.py:3 step",    //
                            "    66 MiB    /job/train.py:4 step",    //
                            "    65 MiB    /job/train.py:5 step",    //
                            "              … 2 more",                //
                            "    80 MiB  dataloader_worker",         //
                            "    80 MiB    /job/train.py:7 decode",  //
                            "   3.0 MiB  not attributed: other"));
}

TEST(ViewGrowth, TheKeyCyclesThroughThePlanes) {
    Screen screen;
    screen.growth = grown();
    screen.draw();
    EXPECT_THAT(screen.text(), HasSubstr("g growth "));
    screen.type("g");
    EXPECT_THAT(screen.text(), HasSubstr("RESIDENT"));
    EXPECT_THAT(screen.text(), Not(HasSubstr("ROLE / PROCESS"))) << "the panel replaces the tree";
    screen.type("g");
    EXPECT_THAT(screen.text(), HasSubstr("   512 MiB    /job/train.py:99 buffers"));
    screen.type("g");
    EXPECT_THAT(screen.text(), HasSubstr("HOST TENSORS"));
    screen.type("g");
    EXPECT_THAT(screen.text(), HasSubstr("ROLE / PROCESS"));
    screen.type("g");
    screen.key(Code::escape);
    EXPECT_EQ(screen.state.growth, GrowthPanel::off);
}

TEST(ViewGrowth, AKeyChoosesTheStartOfTheGrowth) {
    using Since = GrowthRequest::Since;
    Screen screen;
    screen.growth = grown();
    screen.type("t");
    EXPECT_EQ(screen.state.growth_since, GrowthSince::warmup) << "without the panel the key does nothing";
    screen.type("g");
    EXPECT_EQ(growth_request(screen.state), (GrowthRequest{.since = Since::warmup}));
    screen.type("t");
    EXPECT_EQ(growth_request(screen.state), (GrowthRequest{.since = Since::ago, .ago = std::chrono::minutes(10)}));
    screen.type("t");
    EXPECT_EQ(growth_request(screen.state), GrowthRequest{});
    screen.type("t");
    EXPECT_EQ(screen.state.growth_since, GrowthSince::warmup);
}

TEST(ViewGrowth, StacksOfOneLineAreOneRow) {
    Growth growth;
    GrowthSite first = site(80 * kMiB, Role::trainer, "step", 7);
    GrowthSite second = first;
    second.python.push_back({"main", "/job/train.py", 90});
    growth.mapped.sites = {first, second};
    EXPECT_THAT(text_of(growth_panel(&growth, GrowthPanel::mapped, 1000, 80)),
                testing::Contains("   160 MiB    /job/train.py:7 step"));
}

TEST(ViewGrowth, ScrollsAndNeverTooFar) {
    Screen screen;
    screen.growth = grown();
    screen.look.height = 12;
    const std::size_t selected = screen.state.selected_index;
    screen.type("g");
    EXPECT_THAT(screen.text(), Not(HasSubstr("not attributed")));
    screen.key(Code::end);
    EXPECT_THAT(screen.text(), HasSubstr("not attributed: other"));
    screen.key(Code::down);
    EXPECT_THAT(screen.text(), HasSubstr("not attributed: other"));
    screen.type("k");
    EXPECT_THAT(screen.text(), Not(HasSubstr("not attributed: other"))) << "one line up at once";
    screen.key(Code::home);
    EXPECT_THAT(screen.text(), HasSubstr("RESIDENT"));
    EXPECT_EQ(screen.state.selected_index, selected) << "the tree below it stays as it was";
}

TEST(ViewGrowth, SaysThatGrowthIsNotRecorded) {
    Screen screen;
    screen.look.width = 120;
    screen.type("g");
    EXPECT_THAT(screen.text(), HasSubstr("growth is not recorded"));
}

TEST(ViewGrowth, ReportsThatNothingGrew) {
    const Growth none;
    EXPECT_THAT(
        text_of(growth_panel(&none, GrowthPanel::mapped, 1000, 80)),
        ElementsAre(" MAPPED  mapped here and not unmapped since, since watching began (t)", "   nothing so far"));
}

TEST(ViewGrowth, HostTensorsAreAPanelAndSayWhyTheyAreNotKnown) {
    Growth growth;
    EXPECT_THAT(text_of(growth_panel(&growth, GrowthPanel::tensors_host, 1000, 80)),
                ElementsAre(" HOST TENSORS  allocated here and not freed since, since watching began (t)",
                            "   no process has PyTorch mapped"));
    growth.host_tensors.paused_at_rate = 13'000;
    EXPECT_THAT(text_of(growth_panel(&growth, GrowthPanel::tensors_host, 1000, 80)),
                testing::Contains("   paused: 13000 storages a second cost too much to record"));
    growth.tensors_host.sites = {site(80 * kMiB, Role::trainer, "validate", 60)};
    EXPECT_THAT(text_of(growth_panel(&growth, GrowthPanel::tensors_host, 1000, 80)),
                testing::Contains("    80 MiB    /job/train.py:60 validate"));
}

TEST(ViewGrowth, TenThousandSitesAreAFewLines) {
    Growth growth;
    for (int line = 1; line <= 10'000; ++line) growth.resident.sites.push_back(site(4096, Role::trainer, "step", line));
    EXPECT_EQ(growth_panel(&growth, GrowthPanel::resident, 1000, 80).size(), 8U);
}

}  // namespace panels_growth_test
}  // namespace memscope::view
