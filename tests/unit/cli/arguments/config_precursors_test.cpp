#include <fmt/format.h>
#include <gmock/gmock.h>

#include "cli/arguments/config.h"
#include "unit/cli/arguments/parsed.h"

namespace memscope {
namespace config_precursors_test {

using testing::AllOf;
using testing::HasSubstr;

PrecursorSettings settings_of(const std::string& keys) {
    return parsed<WatchOptions>({"--cgroup", "a"}, config_at(kDefaultConfig, "[precursors]\n" + keys)).precursors;
}
std::string refused(const std::string& keys) {
    return refusal({"--cgroup", "a"}, config_at(kDefaultConfig, "[precursors]\n" + keys));
}

TEST(ConfigPrecursors, EveryKeySetsItsThreshold) {
    const PrecursorSettings settings = settings_of(R"(
eta = "20m"
eta_warmup = "3m"
eta_warmup_held = "70%"
near_limit = "95%"
near_limit_for = "10s"
pressure = "20%"
reclaim = "2.5%"
reclaim_window = "30s"
refault = "0.5%"
refault_for = "90s"
high_throttled = "1m"
shm_full = "80%"
host_low = "5%"
host_low_least = "512M"
clear_after = "2m"
)");
    EXPECT_EQ(settings.eta, Seconds{1200});
    EXPECT_EQ(settings.eta_warmup, Seconds{180});
    EXPECT_DOUBLE_EQ(settings.eta_warmup_held, 0.7);
    EXPECT_DOUBLE_EQ(settings.near_limit, 0.95);
    EXPECT_EQ(settings.near_limit_for, Seconds{10});
    EXPECT_DOUBLE_EQ(settings.pressure, 0.2);
    EXPECT_DOUBLE_EQ(settings.reclaim, 0.025);
    EXPECT_EQ(settings.reclaim_window, Seconds{30});
    EXPECT_DOUBLE_EQ(settings.refault, 0.005);
    EXPECT_EQ(settings.refault_for, Seconds{90});
    EXPECT_EQ(settings.high_throttled, Seconds{60});
    EXPECT_DOUBLE_EQ(settings.shm_full, 0.8);
    EXPECT_DOUBLE_EQ(settings.host_low, 0.05);
    EXPECT_EQ(settings.host_low_least, Bytes{std::uint64_t{512} << 20U});
    EXPECT_EQ(settings.clear_after, Seconds{120});
}

TEST(ConfigPrecursors, TheExamplesAreTheDefaults) {
    std::string all;
    for (const PrecursorKey& key : precursor_keys()) all += fmt::format("{} = \"{}\"\n", key.name, key.example);
    const PrecursorSettings written = settings_of(all);
    const PrecursorSettings usual;
    EXPECT_EQ(written.eta, usual.eta);
    EXPECT_EQ(written.eta_warmup, usual.eta_warmup);
    EXPECT_DOUBLE_EQ(written.eta_warmup_held, usual.eta_warmup_held);
    EXPECT_DOUBLE_EQ(written.near_limit, usual.near_limit);
    EXPECT_EQ(written.near_limit_for, usual.near_limit_for);
    EXPECT_DOUBLE_EQ(written.pressure, usual.pressure);
    EXPECT_DOUBLE_EQ(written.reclaim, usual.reclaim);
    EXPECT_EQ(written.reclaim_window, usual.reclaim_window);
    EXPECT_DOUBLE_EQ(written.refault, usual.refault);
    EXPECT_EQ(written.refault_for, usual.refault_for);
    EXPECT_EQ(written.high_throttled, usual.high_throttled);
    EXPECT_DOUBLE_EQ(written.shm_full, usual.shm_full);
    EXPECT_DOUBLE_EQ(written.host_low, usual.host_low);
    EXPECT_EQ(written.host_low_least, usual.host_low_least);
    EXPECT_EQ(written.clear_after, usual.clear_after);
}

TEST(ConfigPrecursors, AnUnknownKeyIsAnErrorThatNamesTheNearestOne) {
    EXPECT_THAT(refused("near_limits = '90%'"), AllOf(HasSubstr(":2: near_limits"), HasSubstr("near_limit")));
}

TEST(ConfigPrecursors, WrongValuesAreErrorsThatSayWhere) {
    EXPECT_THAT(refused("near_limit = '90'"), AllOf(HasSubstr(":2: near_limit"), HasSubstr("not a percentage")));
    EXPECT_THAT(refused("near_limit = '101%'"), HasSubstr("not a percentage"));
    EXPECT_THAT(refused("near_limit = 'nan%'"), HasSubstr("not a percentage"));
    EXPECT_THAT(refused("near_limit = '-1%'"), HasSubstr("not a percentage"));
    EXPECT_THAT(refused("near_limit = 0.9"), AllOf(HasSubstr("is a number"), HasSubstr("near_limit = \"90%\"")));
    EXPECT_THAT(refused("clear_after = '0s'"), HasSubstr("out of range"));
    EXPECT_THAT(refused("host_low_least = 'much'"), HasSubstr("much"));
}

TEST(ConfigPrecursors, PrecursorsMustBeATable) {
    EXPECT_THAT(refusal({"--cgroup", "a"}, config_at(kDefaultConfig, "precursors = 'all'")), HasSubstr("[precursors]"));
}

}  // namespace config_precursors_test
}  // namespace memscope
