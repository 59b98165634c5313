#include "cli/verdict_command.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "support/fake_tree.h"
#include "support/json.h"

namespace memscope {
namespace verdict_command_test {

using testing::HasSubstr;
using testing::StartsWith;

std::string leaking_csv() {
    std::string text = "t_seconds,bytes\n";
    for (int t = 0; t < 3600; t += 5) text += fmt::format("{},{}\n", 5000 + t, (6ULL << 30U) + 300000ULL * t);
    return text;
}

struct VerdictOfAFile : testing::Test {
    FakeTree tree{{"run.csv", leaking_csv()}, {"header.csv", "t_seconds,bytes\n"}, {"wrong.csv", "a,b\n"}};
    Result<VerdictAnswer> of(const char* name, VerdictOptions options = {}) {
        options.file = tree.at(name).string();
        return judge_file(options);
    }
};

TEST_F(VerdictOfAFile, JsonHasEveryDocumentedField) {
    const auto answer = of("run.csv", {.limit = Bytes{8ULL << 30U}, .json = true});
    ASSERT_TRUE(answer);
    const auto json = nlohmann::json::parse(answer->output);
    for (const char* field : {"verdict", "confidence", "floor_bytes", "floor_slope_bytes_per_second", "peak_bytes",
                              "spike", "warmup_ended_seconds", "leak_started_seconds", "oom_eta_seconds",
                              "oom_eta_range_seconds", "restarted_seconds", "explanation"})
        EXPECT_TRUE(json.contains(field)) << field;
    EXPECT_EQ(json["verdict"], "leaking");
    EXPECT_NEAR(json["floor_slope_bytes_per_second"], 300000, 3000);
    EXPECT_NEAR(json["leak_started_seconds"], 5000, 60);  // on the file's own clock
    EXPECT_NEAR(json["oom_eta_seconds"], (2.0 * (1U << 30U) - 300000.0 * 3595) / 300000, 60);
    EXPECT_LE(json["oom_eta_range_seconds"][0], json["oom_eta_seconds"]);
    EXPECT_TRUE(json["spike"].is_null());
}

TEST_F(VerdictOfAFile, IsText) {
    const auto answer = of("run.csv");
    ASSERT_TRUE(answer);
    EXPECT_THAT(answer->output, StartsWith("leaking: The floor has risen steadily by 1.0 GiB/h"));
    EXPECT_THAT(answer->output, HasSubstr("  peak        7.0 GiB\n"));
}

TEST_F(VerdictOfAFile, MatchesTheVerdictsOfFailOn) {
    EXPECT_TRUE(of("run.csv", {.fail_on = {Verdict::spiky, Verdict::leaking}})->matched);
    EXPECT_FALSE(of("run.csv", {.fail_on = {Verdict::spiky}})->matched);
    EXPECT_FALSE(of("run.csv", {.warmup = std::chrono::hours(3), .fail_on = {Verdict::leaking}})->matched);
}

TEST_F(VerdictOfAFile, NoSamplesAreInsufficient) {
    const auto json = nlohmann::json::parse(of("header.csv", {.json = true})->output);
    EXPECT_EQ(json["verdict"], "insufficient");
    EXPECT_TRUE(json["floor_bytes"].is_null());
    EXPECT_TRUE(json["peak_bytes"].is_null());
}

TEST_F(VerdictOfAFile, AnErrorNamesTheFile) {
    const auto answer = of("wrong.csv");
    ASSERT_FALSE(answer);
    EXPECT_THAT(answer.error().message(), HasSubstr("wrong.csv: line 1"));
}

}  // namespace verdict_command_test
}  // namespace memscope
