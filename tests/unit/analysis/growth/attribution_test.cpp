#include "analysis/growth/attribution.h"

#include <gtest/gtest.h>

namespace memscope {
namespace attribution_test {

GrowthSite site(std::int64_t bytes, pid_t pid, int line, std::uint64_t offset = 0, const char* symbol = "memset") {
    return {.bytes = bytes,
            .role = {Role::trainer, 0},
            .pids = {pid},
            .python = {{"step", "train.py", line}},
            .native = {{symbol, "/lib/libc.so.6", offset}}};
}

TEST(MergedSites, MergeOffsetsOfOneFunction) {
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

TEST(MergedSites, WithoutSymbolsAreMergedByOffset) {
    EXPECT_EQ(merged_sites({site(1, 7, 11, 0x10, ""), site(1, 7, 11, 0x20, "")}).size(), 2U);
    EXPECT_EQ(merged_sites({site(1, 7, 11, 0x10, ""), site(1, 7, 11, 0x10, "")}).size(), 1U);
}

TEST(MergedSites, AreSortedBySizeWithFreedMemoryLast) {
    const auto merged = merged_sites({site(-5, 7, 1), site(10, 7, 2), site(30, 7, 3)});
    ASSERT_EQ(merged.size(), 3U);
    EXPECT_EQ(merged[0].bytes, 30);
    EXPECT_EQ(merged[2].bytes, -5);
}

TEST(MergedSites, OmitSitesWhoseSumIsZero) { EXPECT_TRUE(merged_sites({site(10, 7, 1), site(-10, 7, 1)}).empty()); }

GrowthSite called_from(std::int64_t bytes, pid_t pid, const char* library, const char* caller) {
    GrowthSite site{.bytes = bytes, .role = {Role::trainer, 0}, .pids = {pid}};
    if (*library) site.python.push_back({library, "/opt/lib/python3.11/site-packages/torch/nn.py", 5});
    site.python.push_back({"validate", "/job/train.py", 60});
    site.python.push_back({caller, "/job/train.py", 90});
    return site;
}

TEST(OwnLines, SumAllStacksWithTheSameInnermostOwnLine) {
    const auto lines = own_lines({called_from(100, 8, "forward", "resume"), called_from(300, 7, "", "main"),
                                  called_from(40, 7, "copy", "main"), site(50, 7, 12)});
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[0].site.bytes, 440);
    EXPECT_EQ(lines[0].stacks, 3U);
    EXPECT_EQ(lines[0].site.pids, (std::vector<pid_t>{7, 8}));
    EXPECT_EQ(lines[0].site.python.back().function, "main") << "the frames of the largest stack";
    EXPECT_EQ(lines[1].stacks, 1U);
}

TEST(OwnLines, StayApartByRoleAndFunction) {
    GrowthSite worker = called_from(1, 9, "", "main");
    worker.role = {Role::dataloader_worker, {}};
    GrowthSite other = called_from(1, 9, "", "main");
    other.python[0].function = "evaluate";
    EXPECT_EQ(own_lines({called_from(1, 7, "", "main"), worker, other}).size(), 3U);
}

TEST(OwnLines, ASumThatDoesNotFitStaysInRange) {
    const auto lines = own_lines({called_from(INT64_MAX, 7, "", "main"), called_from(INT64_MAX, 7, "", "resume")});
    EXPECT_EQ(lines.at(0).site.bytes, INT64_MAX);
}

TEST(OwnLines, StacksWithoutPythonStayAsTheyAre) {
    GrowthSite a = site(300, 7, 11);
    GrowthSite b = site(100, 7, 11, 0, "memcpy");
    a.python.clear();
    b.python.clear();
    EXPECT_EQ(own_lines({a, b}).size(), 2U);
}

std::vector<PythonFrame> frames(std::initializer_list<const char*> files) {
    std::vector<PythonFrame> frames;
    for (const char* file : files) frames.push_back({"f", file, 1});
    return frames;
}

TEST(OwnFrame, IsTheInnermostOfTheUsersOwnCode) {
    const auto stack = frames({"/usr/lib/python3/dist-packages/numpy/core/numeric.py", "<frozen importlib._bootstrap>",
                               "/home/me/data.py", "/home/me/train.py"});
    EXPECT_EQ(own_frame(stack)->file, "/home/me/data.py");
    const auto all_in_libraries =
        frames({"/opt/env/lib/python3.12/site-packages/torch/utils.py", "/usr/lib/python3.12/runpy.py"});
    EXPECT_EQ(own_frame(all_in_libraries), &all_in_libraries.front());
    EXPECT_EQ(own_frame(std::vector<PythonFrame>{}), nullptr);
}

const PythonFrame kImportSystem{"_call_with_frames_removed", "<frozen importlib._bootstrap>", 488};

// Deep stacks of imports have no frame of the user if they begin in a library, for example in a plugin.
TEST(OwnFrame, IsNotOfTheImportSystem) {
    const PythonFrame module{"<module>", "/usr/lib/python3/dist-packages/torch/nn.py", 3};
    const std::vector<PythonFrame> frames{kImportSystem, module};
    EXPECT_EQ(own_frame(frames), &frames[1]);
    EXPECT_EQ(own_place(frames), "import (nn.py:3)");
}

TEST(OwnPlace, NamesTheModuleThatALineImports) {
    const PythonFrame own{"<module>", "/job/train.py", 33};
    const auto library = [](const char* file) {
        return PythonFrame{"<module>", "/opt/venv/lib/python3.12/site-packages/" + std::string(file), 9};
    };
    const auto place = [](std::vector<PythonFrame> frames) { return own_place(frames); };
    EXPECT_EQ(place({library("transformers/utils/hub.py"), kImportSystem, library("transformers/__init__.py"),
                     kImportSystem, own}),
              "import transformers (train.py:33)");
    EXPECT_EQ(place({library("torch/nn/functional.py"), kImportSystem, own}),
              "import torch.nn.functional (train.py:33)");
    EXPECT_EQ(place({{"<module>", "/usr/lib/python3.11/json/decoder.py", 1}, kImportSystem, own}),
              "import json.decoder (train.py:33)");
    EXPECT_EQ(place({kImportSystem, own}), "import (train.py:33)") << "the code of the module does not run yet";
    EXPECT_EQ(place({own}), "<module> (train.py:33)");
    EXPECT_EQ(place({library("lib.py"), own}), "<module> (train.py:33)") << "a call, not an import";
    EXPECT_EQ(place({}), "");
}

// A module of the user is own code: its lines are named, not the line that imports it.
TEST(OwnPlace, IsTheLineOfAnOwnModule) {
    EXPECT_EQ(own_place(std::vector<PythonFrame>{
                  {"<module>", "/job/model.py", 5}, kImportSystem, {"<module>", "/job/train.py", 1}}),
              "<module> (model.py:5)");
}

TEST(OwnFrame, IsNotTheMarkOfFramesThatWereLeftOut) {
    const std::vector<PythonFrame> frames{{"forward", "/opt/venv/lib/python3.12/site-packages/nn.py", 9},
                                          {"… 3 frames left out …", std::string(kLeftOutFile), 0},
                                          {"validate", "train.py", 60}};
    EXPECT_EQ(own_frame(frames), &frames[2]);
}

}  // namespace attribution_test
}  // namespace memscope
