#include "watch/growth/call_sites.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/growth/attribution.h"

namespace memscope {
namespace call_sites_test {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Key;
using testing::UnorderedElementsAre;

StackId stack_id(std::uint64_t number) { return StackId{number}; }
SpaceId space_of(pid_t pid) { return SpaceId{static_cast<std::uint64_t>(pid) * 100}; }

RawStack stack_of(pid_t pid, std::uint64_t id) {
    return {.id = stack_id(id), .space = space_of(pid), .process = {pid, 7}};
}
CallSite site_at(const std::string& function, int line = 1) { return {.python = {{function, "train.py", line}}}; }

CallSites::SizeOf sizes(std::map<StackId, std::int64_t> held) {
    return [held = std::move(held)](StackId id) -> std::optional<std::int64_t> {
        const auto found = held.find(id);
        return found == held.end() ? 0 : found->second;
    };
}

// The direct caller of mmap() is missing in a stack, because mmap() has no frame of its own.
TEST(CallSites, RecognizesMappingsOfPythonsAllocator) {
    const auto in = [](const char* path) { return NativeLocation{.module = std::make_shared<Module>(path)}; };
    CallSite site = site_at("load");
    site.native = {in("/lib/libc.so.6"), in("/usr/bin/python3.11")};
    EXPECT_TRUE(is_mapped_by_python(site));
    site.native = {in("/lib/libc.so.6"), in("/usr/lib/libpython3.12.so.1.0")};
    EXPECT_TRUE(is_mapped_by_python(site));
    site.native = {in("/lib/libc.so.6"), in("/lib/libc.so.6"), in("/usr/bin/python3.11")};
    EXPECT_FALSE(is_mapped_by_python(site)) << "malloc mapped it";
    site.native = {in("/lib/libc.so.6")};
    EXPECT_FALSE(is_mapped_by_python(site));
    site.native = {in("/lib/libc.so.6"), {}};
    EXPECT_FALSE(is_mapped_by_python(site));
    site = {.python = {}, .native = {in("/lib/libc.so.6"), in("/usr/bin/python3.11")}};
    EXPECT_FALSE(is_mapped_by_python(site));
}

TEST(CallSites, KeptExcludesPassingMemoryAndArenas) {
    SiteGrowth growth{.bytes = 100, .passing = 30};
    EXPECT_EQ(growth.kept(), 70);
    growth.bytes = 20;  // since an earlier time
    EXPECT_EQ(growth.kept(), 0);
    EXPECT_EQ((SiteGrowth{.bytes = 100, .arenas = true}).kept(), 0);
}

TEST(CallSites, AStackHasNoSiteUntilItsNamesAreRead) {
    CallSites sites;
    sites.expect_names(stack_of(5, 1));
    EXPECT_TRUE(sites.expects_names(stack_id(1)));
    EXPECT_FALSE(sites.expects_names(stack_id(2)));
    EXPECT_EQ(sites.site_of(stack_id(1)), nullptr);
    EXPECT_TRUE(sites.learn(stack_of(5, 1), site_at("load")));
    EXPECT_FALSE(sites.expects_names(stack_id(1)));
    ASSERT_NE(sites.site_of(stack_id(1)), nullptr);
    EXPECT_EQ((*sites.site_of(stack_id(1)))->python.at(0).function, "load");
}

TEST(CallSites, LosingTheNamesOfAStackEndsTheWait) {
    CallSites sites;
    sites.expect_names(stack_of(5, 1));
    sites.lose_names(stack_id(1));
    EXPECT_FALSE(sites.expects_names(stack_id(1)));
    EXPECT_EQ(sites.site_of(stack_id(1)), nullptr);
}

TEST(CallSites, ProcessesWithTheSameFramesShareACallSite) {
    CallSites sites;
    sites.learn(stack_of(5, 1), site_at("load"));
    sites.learn(stack_of(6, 2), site_at("load"));
    EXPECT_EQ(*sites.site_of(stack_id(1)), *sites.site_of(stack_id(2)));
}

TEST(CallSites, TheEndOfAnAddressSpaceRemovesItsStacks) {
    CallSites sites;
    sites.learn(stack_of(5, 1), site_at("load"));
    sites.learn(stack_of(5, 2), site_at("load", 2));
    sites.learn(stack_of(6, 3), site_at("load", 3));
    EXPECT_THAT(sites.end(space_of(5)), UnorderedElementsAre(stack_id(1), stack_id(2)));
    EXPECT_THAT(sites.end(space_of(5)), IsEmpty());
    EXPECT_EQ(sites.stack_count(), 1U);
    EXPECT_TRUE(sites.knows(stack_id(3)));
}

// A report that is being made still needs its names.
TEST(CallSites, ACallSiteLivesAsLongAsAStackRefersToIt) {
    CallSites sites;
    sites.learn(stack_of(5, 1), site_at("load"));
    const CallSitePtr held = *sites.site_of(stack_id(1));
    sites.end(space_of(5));
    EXPECT_EQ(held->python.at(0).function, "load");
}

TEST(CallSites, FoldsNothingWhileThereIsRoom) {
    CallSites sites(CallSites::Limits{.stacks = 2});
    sites.learn(stack_of(5, 1), site_at("load"));
    EXPECT_FALSE(sites.is_full());
    EXPECT_THAT(sites.fold(sizes({})).stacks, IsEmpty());
    EXPECT_TRUE(sites.knows(stack_id(1)));
}

TEST(CallSites, FoldsTheSmallestStacksOfTheProcessThatHasMost) {
    CallSites sites(CallSites::Limits{.stacks = 8});
    sites.learn(stack_of(1, 100), site_at("honest"));
    std::map<StackId, std::int64_t> held;
    for (std::uint64_t id = 1; id <= 8; ++id) {
        sites.learn(stack_of(2, id), site_at("made_up", static_cast<int>(id)));
        held[stack_id(id)] = static_cast<std::int64_t>(id);
    }
    ASSERT_TRUE(sites.is_full());
    const auto folded = sites.fold(sizes(held));
    EXPECT_THAT(folded.lost, ElementsAre(std::pair<const pid_t, std::uint32_t>{2, 4U}));
    EXPECT_THAT(folded.stacks,
                UnorderedElementsAre(Key(stack_id(1)), Key(stack_id(2)), Key(stack_id(3)), Key(stack_id(4))));
    EXPECT_TRUE(sites.knows(stack_id(100)));
    EXPECT_FALSE(sites.knows(stack_id(4)));
    EXPECT_TRUE(sites.knows(stack_id(5)));
}

// A job with thousands of transient allocations a second has new stacks all the time.
TEST(CallSites, FoldsStacksThatHoldNothingFirstInACrowdedSpace) {
    CallSites sites(CallSites::Limits{.of_space = 8});
    std::map<StackId, std::int64_t> held;
    for (std::uint64_t id = 1; id <= 12; ++id) {
        sites.learn(stack_of(2, id), site_at("passes_by", static_cast<int>(id)));
        if (id % 4 == 0) held[stack_id(id)] = 1;
    }
    EXPECT_FALSE(sites.is_full());
    ASSERT_TRUE(sites.has_crowded_space());
    const auto folded = sites.fold(sizes(held));
    EXPECT_THAT(folded.lost, ElementsAre(std::pair<const pid_t, std::uint32_t>{2, 9U}));
    EXPECT_EQ(sites.stack_count(), 3U);
    for (const std::uint64_t id : {4, 8, 12}) EXPECT_TRUE(sites.knows(stack_id(id))) << id;
    EXPECT_FALSE(sites.has_crowded_space());
}

TEST(CallSites, FoldsTheSmallestStacksIfAllHoldMemoryInACrowdedSpace) {
    CallSites sites(CallSites::Limits{.of_space = 8});
    std::map<StackId, std::int64_t> held;
    for (std::uint64_t id = 1; id <= 12; ++id) {
        sites.learn(stack_of(2, id), site_at("keeps", static_cast<int>(id)));
        held[stack_id(id)] = static_cast<std::int64_t>(id);
    }
    const auto folded = sites.fold(sizes(held));
    EXPECT_EQ(folded.stacks.size(), 6U);
    EXPECT_TRUE(sites.knows(stack_id(12)));
    EXPECT_FALSE(sites.knows(stack_id(6)));
}

CallSite site_below(const std::string& own, int line, const std::string& library) {
    return {.python = {{library, "/usr/lib/python3/dist-packages/torch/nn.py", line}, {own, "train.py", 60}}};
}

// Nothing that was attributed to a line becomes unattributed.
TEST(CallSites, MergesStacksIntoTheirOwnLines) {
    CallSites sites(CallSites::Limits{.of_space = 8});
    std::map<StackId, std::int64_t> held;
    for (std::uint64_t id = 1; id <= 12; ++id) {
        sites.learn(stack_of(2, id), site_below(id % 2 == 0 ? "validate" : "train", static_cast<int>(id), "forward"));
        held[stack_id(id)] = static_cast<std::int64_t>(id);
    }
    const auto folded = sites.fold(sizes(held));
    ASSERT_EQ(folded.stacks.size(), 6U);
    const StackId train = folded.stacks.at(stack_id(1)), validate = folded.stacks.at(stack_id(2));
    EXPECT_NE(train, validate);
    for (const auto& [stack, line] : folded.stacks)
        EXPECT_EQ(line, static_cast<std::uint64_t>(stack) % 2 == 0 ? validate : train);
    ASSERT_NE(sites.site_of(validate), nullptr);
    EXPECT_THAT((*sites.site_of(validate))->python.copied(), ElementsAre(PythonFrame{"validate", "train.py", 60}));
    EXPECT_EQ(sites.stack_count(), 8U);
    EXPECT_FALSE(sites.has_crowded_space());
}

TEST(CallSites, ForgetsTheStackOfALineWhoseMemoryWasFreed) {
    CallSites sites(CallSites::Limits{.of_space = 8});
    const auto learn = [&](std::uint64_t first) {
        for (std::uint64_t id = first; id < first + 12; ++id)
            sites.learn(stack_of(2, id), site_below("validate", static_cast<int>(id), "forward"));
    };
    learn(1);
    const auto all = [](StackId) -> std::optional<std::int64_t> { return 1; };
    const StackId line = sites.fold(all).stacks.begin()->second;
    ASSERT_TRUE(sites.knows(line));
    learn(101);
    sites.fold([&](StackId stack) { return stack == line ? std::optional<std::int64_t>(0) : std::nullopt; });
    EXPECT_FALSE(sites.knows(line));
    sites.end(space_of(2));
    EXPECT_EQ(sites.stack_count(), 0U);
    EXPECT_EQ(sites.name_bytes(), 0U);
}

// Lines that a hostile program makes up.
TEST(CallSites, BoundsTheNumberOfOwnLines) {
    CallSites sites(CallSites::Limits{.of_space = 8});
    for (std::uint64_t id = 1; id <= 400; ++id) {
        sites.learn(stack_of(2, id), site_at("made_up", static_cast<int>(id)));
        if (sites.has_crowded_space()) sites.fold([](StackId) { return std::optional<std::int64_t>(1); });
        EXPECT_LE(sites.stack_count(), 9U);
    }
}

// A deep stack of a framework.
TEST(CallSites, KeepsTheOwnLineOfAStackWhoseNamesDoNotFit) {
    CallSites sites(CallSites::Limits{.name_bytes = 40'000});
    CallSite site;
    for (int i = 0; i < 60; ++i)
        site.python.push_back(std::make_shared<const PythonFrame>(
            PythonFrame{std::string(300, 'n'), "/usr/lib/python3/dist-packages/torch/nn.py", i}));
    site.python.push_back(std::make_shared<const PythonFrame>(PythonFrame{"validate", "train.py", 60}));
    EXPECT_TRUE(sites.learn(stack_of(2, 1), site));
    EXPECT_THAT((*sites.site_of(stack_id(1)))->python.copied(), ElementsAre(PythonFrame{"validate", "train.py", 60}));
}

TEST(CallSites, FramesThatStacksShareTakeRoomOnce) {
    CallSites sites;
    for (int line = 1; line <= 100; ++line) {
        CallSite site = site_at(std::string(1000, 'n'));
        site.python.push_back(std::make_shared<const PythonFrame>(PythonFrame{"caller", "train.py", line}));
        sites.learn(stack_of(2, static_cast<std::uint64_t>(line)), site);
    }
    EXPECT_LT(sites.name_bytes(), 60'000U);
}

TEST(CallSites, AMergedImportIsStillAnImport) {
    const PythonFrame own{"<module>", "/job/train.py", 33},
        system{"_find_and_load", "<frozen importlib._bootstrap>", 1},
        inner{"<module>", "/usr/lib/python3/dist-packages/torch/nn.py", 5},
        outer{"<module>", "/usr/lib/python3/dist-packages/torch/__init__.py", 7};
    const CallSite line = own_line_of({.python = {system, inner, system, outer, system, own}});
    EXPECT_THAT(line.python.copied(), ElementsAre(system, outer, own));
    EXPECT_EQ(own_place(line.python), "import torch (train.py:33)");
    EXPECT_THAT(own_line_of(site_at("load")).python.copied(), ElementsAre(PythonFrame{"load", "train.py", 1}));
}

TEST(CallSites, AStackThatMustStayIsNotFolded) {
    CallSites sites(CallSites::Limits{.stacks = 1});
    sites.learn(stack_of(2, 1), site_at("load"));
    sites.learn(stack_of(2, 2), site_at("load", 2));
    EXPECT_THAT(sites.fold([](StackId) { return std::nullopt; }).stacks, IsEmpty());
    EXPECT_EQ(sites.stack_count(), 2U);
}

TEST(CallSites, OneProcessGetsOnlyAPartOfTheBudgetForNames) {
    CallSites sites(CallSites::Limits{.name_bytes = 40'000});
    std::size_t refused = 0;
    for (std::uint64_t id = 1; id <= 100; ++id)
        refused += sites.learn(stack_of(2, id), site_at(std::string(1000, 'n'), static_cast<int>(id))) ? 0 : 1;
    EXPECT_GT(refused, 80U);
    EXPECT_LE(sites.name_bytes(), 10'000U);
    EXPECT_TRUE(sites.learn(stack_of(3, 1000), site_at("honest")));
}

// Six processes fill the whole budget before names are folded.
TEST(CallSites, LeavesRoomForProcessesWithFewNames) {
    CallSites sites(CallSites::Limits{.name_bytes = 160'000});
    for (pid_t pid = 2; pid < 8; ++pid)
        for (std::uint64_t id = 0; id < 60; ++id)
            sites.learn(stack_of(pid, 1000 * static_cast<std::uint64_t>(pid) + id),
                        site_at(std::string(1000, 'n'), static_cast<int>(1000 * pid + static_cast<int>(id))));
    ASSERT_TRUE(sites.is_full());
    EXPECT_FALSE(sites.learn(stack_of(9, 1), site_at(std::string(5000, 'n')))) << "not few";
    EXPECT_TRUE(sites.learn(stack_of(10, 2), site_at("honest")));
}

TEST(CallSites, MakesRoomForNames) {
    CallSites sites(CallSites::Limits{.name_bytes = 40'000});
    sites.learn(stack_of(1, 1000), site_at("honest"));
    std::uint64_t id = 0;
    for (pid_t pid = 2; pid <= 20; ++pid)
        for (int i = 0; i < 20; ++i) {
            ++id;
            sites.learn(stack_of(pid, id), site_at(std::string(1000, 'n'), static_cast<int>(id)));
        }
    EXPECT_TRUE(sites.is_full());
    EXPECT_LE(sites.name_bytes(), 50'000U);
    sites.fold(sizes({}));
    EXPECT_LE(sites.name_bytes(), 30'000U);
    EXPECT_TRUE(sites.site_of(stack_id(1000)));
}

TEST(CallSites, AStackThatIsGivenUpIsForgotten) {
    CallSites sites;
    sites.learn(stack_of(5, 1), site_at("load"));
    sites.give_up(stack_id(1));
    EXPECT_FALSE(sites.knows(stack_id(1)));
    sites.give_up(stack_id(7));
    EXPECT_EQ(sites.stack_count(), 0U);
}

// The kernel sends a stack again if its map no longer has the entry that says that the stack was sent.
TEST(CallSites, LearningAStackAgainTakesNoMoreRoom) {
    CallSites sites;
    for (int i = 0; i < 10; ++i) sites.learn(stack_of(5, 1), site_at("load"));
    const std::size_t once = sites.name_bytes();
    EXPECT_LT(once, 500U);
    sites.end(space_of(5));
    EXPECT_EQ(sites.name_bytes(), 0U);
}

TEST(CallSites, AProgramThatExecutedAnotherHasTwoSpaces) {
    CallSites sites;
    RawStack first = stack_of(5, 1), second = stack_of(5, 2);
    second.space = SpaceId{9};
    sites.learn(first, site_at("before"));
    sites.learn(second, site_at("after"));
    EXPECT_THAT(sites.spaces_of(5), UnorderedElementsAre(space_of(5), SpaceId{9}));
}

}  // namespace call_sites_test
}  // namespace memscope
