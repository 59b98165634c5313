#include "watch/growth/site_names.h"

#include <gtest/gtest.h>

namespace memscope {
namespace site_names_test {

// Symbols that are never there yet, and how often they were asked for.
class CountingReads : public NativeReads {
  public:
    std::optional<Result<ProcessMaps>> maps(pid_t, std::uint64_t) override { return std::nullopt; }
    std::optional<Result<ModulePlace>> find(pid_t, const MappedRange&, std::uint64_t) override { return std::nullopt; }
    std::optional<Result<LoadedModule>> load(ModuleWanted, Wait) override {
        ++loads;
        return std::nullopt;
    }
    std::size_t loads = 0;
};

struct Sites : testing::Test {
    std::shared_ptr<CountingReads> reads = std::make_shared<CountingReads>();
    NativeSymbols symbols{reads};
    std::shared_ptr<Module> module =
        std::make_shared<Module>(ModuleWanted{.path = "/lib/libtorch.so"}, std::make_shared<OpenFiles>(0));

    SiteGrowth grown(std::uint64_t offset, std::int64_t bytes, pid_t pid = 5) const {
        CallSite site{.python = {}, .native = {{.module = module, .offset = offset, .is_return = false}}};
        return {.site = std::make_shared<const CallSite>(std::move(site)), .pid = pid, .bytes = bytes};
    }
    std::vector<SiteGrowth> many() const {
        std::vector<SiteGrowth> growths;
        for (std::uint64_t i = 0; i < 4 * SiteNames::kMostNamed; ++i)
            growths.push_back(grown(i, static_cast<std::int64_t>(i) + 1));
        return growths;
    }
};

TEST_F(Sites, TheTickThreadSymbolizesOnlyTheLargestSitesAndKeepsAll) {
    const GrowthPlane plane = SiteNames(symbols, NativeReads::Wait::no).plane(many());
    EXPECT_EQ(reads->loads, SiteNames::kMostNamed);
    ASSERT_EQ(plane.sites.size(), 4 * SiteNames::kMostNamed);
    EXPECT_EQ(plane.sites.front().bytes, static_cast<std::int64_t>(4 * SiteNames::kMostNamed));
    EXPECT_EQ(plane.sites.back().native.at(0).module, "/lib/libtorch.so");
    EXPECT_EQ(plane.sites.back().native.at(0).offset, 0U);
}

TEST_F(Sites, TheRecorderThreadWaitsForTheLargestSitesOnly) {
    (void)SiteNames(symbols, NativeReads::Wait::some).plane(many());
    EXPECT_EQ(reads->loads, SiteNames::kMostNamed);
}

TEST_F(Sites, AThreadThatCanWaitSymbolizesAllSites) {
    (void)SiteNames(symbols, NativeReads::Wait::yes).plane(many());
    EXPECT_EQ(reads->loads, 4 * SiteNames::kMostNamed);
}

TEST_F(Sites, ALocationIsSymbolizedOnceForAllPlanes) {
    SiteNames names(symbols, NativeReads::Wait::yes);
    for (int plane = 0; plane < 2; ++plane) (void)names.plane({grown(1, 10, 5), grown(1, 20, 6), grown(1, 30, 7)});
    EXPECT_EQ(reads->loads, 1U);
}

TEST_F(Sites, MergesASiteOfSeveralProcesses) {
    const SiteGrowth first = grown(1, 10, 5);
    SiteGrowth second = first;
    second.pid = 6;
    const GrowthPlane plane = SiteNames(symbols, NativeReads::Wait::no).plane({first, second});
    ASSERT_EQ(plane.sites.size(), 1U);
    EXPECT_EQ(plane.sites[0].bytes, 20);
    EXPECT_EQ(plane.sites[0].pids, (std::vector<pid_t>{5, 6}));
}

}  // namespace site_names_test
}  // namespace memscope
