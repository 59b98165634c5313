#include "cli/arguments/config.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/files.h"
#include "unit/cli/arguments/parsed.h"

namespace memscope {
namespace config_test {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

WatchOptions from(const std::string& toml) { return parsed<WatchOptions>({}, config_at(kDefaultConfig, toml)); }
std::string refused(const std::string& toml) {
    return refusal({"--config", "c.toml", "--cgroup", "a"}, config_at("c.toml", toml));
}

TEST(Config, EveryKey) {
    const auto options = from(R"(
cgroup = ["train", "kubepods.slice/**/cri-*.scope"]
wait = true
interval = "2s"
duration = "1h"
listen = "none"
linger = "0s"
json = true
quiet = true
)");
    EXPECT_THAT(options.cgroups, ElementsAre("train", "kubepods.slice/**/cri-*.scope"));
    EXPECT_TRUE(options.wait);
    EXPECT_EQ(options.interval, Seconds(2));
    EXPECT_EQ(options.duration, Seconds(3600));
    EXPECT_EQ(options.listen, std::nullopt);
    EXPECT_EQ(options.linger, Seconds(0));
    EXPECT_TRUE(options.json);
    EXPECT_TRUE(options.quiet);
    EXPECT_TRUE(from("cgroup = 'a'\nhttp-status = true").http_status);
    EXPECT_THAT(from("cgroup = 'a'\nhttp-host = ['n7', 'N8']").http_hosts, ElementsAre("n7", "n8"));
}

TEST(Config, FailOnTakesVerdictsAndSuspectedLeaks) {
    const auto both = from("cgroup = 'a'\nfail-on = 'leaking, suspected'");
    EXPECT_THAT(both.fail_on, ElementsAre(Verdict::leaking));
    EXPECT_TRUE(both.fail_on_suspected);
    const auto suspected = from("cgroup = 'a'\nfail-on = 'suspected'");
    EXPECT_THAT(suspected.fail_on, testing::IsEmpty());
    EXPECT_TRUE(suspected.fail_on_suspected);
    EXPECT_FALSE(from("cgroup = 'a'\nfail-on = 'spiky'").fail_on_suspected);
    EXPECT_THAT(refused("fail-on = 'suspect'"), HasSubstr("'suspect' is not a verdict"));
}

TEST(Config, OneCgroupNeedsNoList) { EXPECT_THAT(from("cgroup = 'train'").cgroups, ElementsAre("train")); }

TEST(Config, EverySettingIsAKeyAndAnOption) {
    for (const WatchSetting& setting : watch_settings()) {
        std::string value(setting.example);
        WatchOptions options;
        const auto applied = apply_config(options, fmt::format("{} = {}", setting.name, value), "f");
        EXPECT_TRUE(static_cast<bool>(applied)) << setting.name;
        EXPECT_THAT(parsed<Help>({"--help"}).text, HasSubstr(fmt::format("  --{} ", setting.name)));
    }
}

TEST(Config, TheCommandLineWins) {
    const auto file = config_at(kDefaultConfig,
                                "cgroup = ['a', 'b']\ninterval = '5s'\njson = true\nlisten = '[::1]:1'\nquiet = true\n"
                                "duration = '1m'\nhttp-host = ['n7', 'n8']\n");
    const auto options =
        parsed<WatchOptions>({"--cgroup", "c", "--interval", "2s", "--json=false", "--listen=127.0.0.1:9751"}, file);
    EXPECT_THAT(options.cgroups, ElementsAre("c"));
    EXPECT_THAT(options.http_hosts, ElementsAre("n7", "n8")) << "another list of the command line leaves it alone";
    EXPECT_THAT(parsed<WatchOptions>({"--http-host", "n9"}, file).http_hosts, ElementsAre("n9"));
    EXPECT_THAT(parsed<WatchOptions>({"--http-host", "n9"}, file).cgroups, ElementsAre("a", "b"));
    EXPECT_EQ(options.interval, Seconds(2));
    EXPECT_FALSE(options.json);
    EXPECT_EQ(options.listen, "127.0.0.1:9751");
    EXPECT_TRUE(options.quiet) << "a setting that is not on the command line is kept";
    EXPECT_EQ(options.duration, Seconds(60));
}

TEST(Config, ANamedFileIsReadInsteadOfTheDefault) {
    const ReadFile both = [](const std::string& path) -> Result<std::string> {
        return std::string(path == "mine.toml" ? "cgroup = 'mine'" : "cgroup = 'default'");
    };
    EXPECT_THAT(parsed<WatchOptions>({"--config", "mine.toml"}, both).cgroups, ElementsAre("mine"));
    EXPECT_THAT(parsed<WatchOptions>({"--config=mine.toml"}, both).cgroups, ElementsAre("mine"));
    EXPECT_THAT(parsed<WatchOptions>({}, both).cgroups, ElementsAre("default"));
}

TEST(Config, OnlyTheDefaultFileMayBeMissing) {
    EXPECT_THAT(parsed<WatchOptions>({"--cgroup", "a"}, no_config()).cgroups, ElementsAre("a"));
    EXPECT_THAT(refusal({"--cgroup", "a", "--config", "gone.toml"}, no_config()),
                AllOf(StartsWith("config file: open gone.toml: "), HasSubstr("choose a file that can be read")));
    const ReadFile locked = [](const std::string& path) -> Result<std::string> {
        return system_error(EACCES, "open " + path);
    };
    EXPECT_THAT(refusal({"--cgroup", "a"}, locked), HasSubstr("open /etc/memscope.toml: Permission denied"));
}

TEST(Config, AnEmptyFileHasNoSettings) {
    EXPECT_THAT(parsed<WatchOptions>({"--cgroup", "a"}, config_at(kDefaultConfig, "")).cgroups, ElementsAre("a"));
    EXPECT_THAT(parsed<NothingToWatch>({}, config_at(kDefaultConfig, "cgroup = []")).error.message(),
                HasSubstr("nothing to watch"));
}

TEST(ConfigErrors, UnknownKeysNameTheLineAndTheNearKey) {
    EXPECT_EQ(refused("wait = true\n\ncgroups = ['a']"), "c.toml:3: cgroups: unknown key; did you mean cgroup?");
    EXPECT_THAT(refused("http_status = true"), HasSubstr("did you mean http-status?"));
    EXPECT_THAT(refused("colour = 1"), AllOf(StartsWith("c.toml:1: colour: unknown key"), HasSubstr("interval")));
    EXPECT_THAT(refused("config = 'x'"), HasSubstr("unknown key"));
    EXPECT_THAT(refused("[watch]\ncgroup = 'a'"), StartsWith("c.toml:1: watch: unknown key"));
    EXPECT_THAT(refused("\"\\u001b\\n\" = 1"), HasSubstr("\\x1b\\n: unknown key"));
}

TEST(ConfigErrors, ASyntaxErrorNamesItsLine) {
    EXPECT_THAT(refused("wait = true\ninterval = \n"), StartsWith("c.toml:2: "));
    EXPECT_THAT(refused("wait = true\nwait = true\n"), StartsWith("c.toml:2: "));
    EXPECT_THAT(refused("[[role]\n"), StartsWith("c.toml:1: "));
}

TEST(ConfigErrors, WrongTypesNameKeyAndLine) {
    EXPECT_EQ(refused("\ninterval = 1"), "c.toml:2: interval: is a number, not a string; write interval = \"1s\"");
    EXPECT_EQ(refused("wait = 'yes'"), "c.toml:1: wait: is a string, not true or false; write wait = true");
    EXPECT_EQ(refused("cgroup = ['a', 5]"), "c.toml:1: cgroup: is a number, not a string; write cgroup = [\"train\"]");
    EXPECT_THAT(refused("cgroup = {a = 1}"), StartsWith("c.toml:1: cgroup: is a table"));
    EXPECT_THAT(refused("listen = [1]"), StartsWith("c.toml:1: listen: is a list"));
    EXPECT_THAT(refused("duration = 1979-05-27"), StartsWith("c.toml:1: duration: is a date or time"));
    EXPECT_THAT(refused("json = 1.5"), StartsWith("c.toml:1: json: is a number"));
    EXPECT_THAT(refused("linger = true"), StartsWith("c.toml:1: linger: is true or false, not a string"));
}

TEST(ConfigErrors, BadValuesHaveTheMessagesOfTheCommandLine) {
    EXPECT_EQ(refused("interval = '1ms'"), "c.toml:1: interval: '1ms' is out of range; from 50ms to 1h");
    EXPECT_THAT(refused("duration = '5'"), StartsWith("c.toml:1: duration: '5' is not a duration"));
    EXPECT_THAT(refused("listen = 'here'"), StartsWith("c.toml:1: listen: 'here' is not an address"));
    EXPECT_THAT(refused("cgroup = ''"), StartsWith("c.toml:1: cgroup: the name is empty"));
    EXPECT_THAT(refused("cgroup = \"a\\u0000b\""), StartsWith("c.toml:1: cgroup: contains a NUL"));
}

TEST(ConfigErrors, ABadValueIsAnErrorEvenWhereTheCommandLineWins) {
    EXPECT_THAT(refusal({"--cgroup", "a", "--interval", "1s"}, config_at(kDefaultConfig, "interval = 'x'")),
                StartsWith("/etc/memscope.toml:1: interval"));
}

TEST(ConfigErrors, GarbageIsRefusedInOneLine) {
    std::string garbage((32 << 10) - 1, '\0');
    std::uint32_t state = 1;
    for (char& c : garbage) c = static_cast<char>((state = state * 1664525U + 1013904223U) >> 24U);
    EXPECT_THAT(refused(garbage), StartsWith("c.toml:1: "));
    EXPECT_THAT(refused(std::string(32 << 10, '\n')), HasSubstr("too large"));
    refused("cgroup = " + std::string(500'000, '['));
    refused("a" + std::string(500'000, 'a') + " = 1");
    refused("cgroup = \"" + std::string(500'000, 'x'));
    refused(
        std::string("\x7f"
                    "ELF\x02\x01\x01\0\0",
                    9));
}

}  // namespace config_test
}  // namespace memscope
