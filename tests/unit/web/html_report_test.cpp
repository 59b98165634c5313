#include "web/html_report.h"

#include <gmock/gmock.h>

#include "recorded_page.h"

namespace memscope::web {
namespace html_report_test {

using nlohmann::json;
using test::kBegan;
using test::kHostile;
using test::kIndex;
using test::series;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

TEST(EscapedForHtml, HasNothingThatEndsAScript) {
    EXPECT_EQ(escaped_for_html(R"({"a":"</script>&<!--"})"), R"({"a":"\u003c/script\u003e\u0026\u003c!--"})");
    EXPECT_EQ(escaped_for_html("\"a\u2028b\u2029c\u2027\""), "\"a\\u2028b\\u2029c\u2027\"");
    EXPECT_EQ(escaped_for_html("\xe2"), "\xe2");
}

TEST(ChooseMoments, HasTheWantedMomentsAndEvenlySpacedOthers) {
    std::vector<double> times;
    for (int i = 0; i < 1000; ++i) times.push_back(i);
    const auto chosen = choose_moments(times, {500.5, 1e9, -5}, 13);
    EXPECT_THAT(chosen, SizeIs(testing::Le(13U)));
    EXPECT_THAT(chosen, testing::IsSupersetOf({0.0, 500.0, 999.0}));
    for (std::size_t i = 1; i < chosen.size(); ++i) EXPECT_LT(chosen[i] - chosen[i - 1], 201);
    EXPECT_THAT(choose_moments(times, times, 5), SizeIs(5));
    EXPECT_THAT(choose_moments({}, {1}, 5), SizeIs(0));
    EXPECT_THAT(choose_moments({3}, {1}, 5), ElementsAre(3));
}

struct AReport : test::RecordedPage {};

TEST_F(AReport, TheReportIsOneFileWithItsHashes) {
    begin();
    for (int i = 0; i < 100; ++i) tick(i, 100);
    growth(50, {.sentence = "It grows."});
    close();
    const std::string html = report();
    // printf 'console.log(1);\n' | openssl dgst -sha256 -binary | base64, and the same of the style.
    EXPECT_THAT(html, HasSubstr("script-src 'sha256-tgPZRusrOWyk7PZcIj2v9lnb5vHP6sI1t8YdO6aWTK4='; style-src "
                                "'sha256-tNXesvGaWcyGg+RDJEJF+tfC6aIuILAtwgaGmMaalSg=';"));
    EXPECT_THAT(html,
                AllOf(HasSubstr("<style>body { margin: 0 }\n</style>"), HasSubstr("<script>console.log(1);\n</script>"),
                      HasSubstr("default-src 'none'"), Not(HasSubstr("href=")), Not(HasSubstr("src="))));
    const json data = data_in(html);
    EXPECT_EQ(data["run"]["mode"], "report");
    EXPECT_EQ(data["run"]["complete"], true);
    EXPECT_THAT(data["curves"], SizeIs(1));
    EXPECT_TRUE(series(data["curves"][0], "role:trainer"));
    EXPECT_EQ(data["ticks"].front()["time"], kBegan);
    EXPECT_EQ(data["ticks"].back()["time"], kBegan + 99);
    EXPECT_EQ(data["growth"][0]["at"], kBegan + 50);
    EXPECT_EQ(data["growth"][0]["growth"]["sentence"], "It grows.");
    EXPECT_THAT(data["heap"], SizeIs(0));
}

TEST_F(AReport, HostileNamesStayData) {
    target = kHostile;
    begin();
    Snapshot snapshot = snapshot_of(0, 100);
    snapshot.targets.front().processes.front().task.comm = kHostile;
    Death death{.time = kBegan, .id = {7, 1}, .comm = kHostile, .cause = DeathCause::sigkill, .explanation = kHostile};
    snapshot.targets.front().deaths = {death};
    tick(0, snapshot);
    event(0, "death", kHostile);
    growth(0, {.sentence = kHostile});
    close();
    const std::string html = report();
    const auto count = [&](std::string_view word) {
        std::size_t times = 0;
        for (auto at = html.find(word); at != std::string::npos; at = html.find(word, at + 1)) ++times;
        return times;
    };
    EXPECT_EQ(count("</script>"), 2U);  // of the data and of the program
    EXPECT_EQ(count("<!--"), 0U);
    EXPECT_EQ(count("\u2028"), 0U);
    const json data = data_in(html);  // it parses, so it is valid UTF-8
    EXPECT_EQ(data["ticks"][0]["processes"][0]["comm"], "</script><!--\u2028\ufffd&\x1b[2J");
}

TEST_F(AReport, TheReportHasCommandsOnlyOnRequest) {
    begin();
    Snapshot snapshot = snapshot_of(0, 100);
    const auto secret = std::make_shared<const std::string>("python3 train.py --api-key SECRET");
    snapshot.targets.front().processes.front().command = secret;
    snapshot.targets.front().deaths = {{.time = kBegan, .id = {7, 1}, .comm = "python3", .command = secret}};
    snapshot.targets.front().last_death = snapshot.targets.front().deaths.front();
    tick(0, snapshot);
    tick(1, 100);
    event(0, "action", "train: --on-precursor curl https://hook.example/SECRET");
    close();
    const std::string html = report();
    EXPECT_THAT(html, Not(HasSubstr("SECRET")));
    EXPECT_THAT(html, Not(HasSubstr("train.py")));
    EXPECT_EQ(data_in(html)["run"]["with_commands"], false);
    EXPECT_THAT(data_in(html)["run"]["events"], SizeIs(1));
    const std::string whole = report({.with_commands = true});
    EXPECT_THAT(whole, AllOf(HasSubstr("--api-key SECRET"), HasSubstr("hook.example/SECRET")));
}

TEST_F(AReport, TheReportIsBounded) {
    begin();
    Snapshot snapshot = snapshot_of(0, 100);
    for (int i = 0; i < 60; ++i) {
        Process process = snapshot.targets.front().processes.front();
        process.task.id = {1000 + i, 1};
        snapshot.targets.front().processes.push_back(process);
        snapshot.targets.front().roles[{Role::trainer, i}] = {
            .anon = {1'000'000'000'000 + 12345ULL * static_cast<unsigned>(i)}};
    }
    for (int i = 0; i < 300; ++i) {
        snapshot.time = kBegan + i;
        tick(i, snapshot);
        event(i, "notice", std::string(1000, '<'));
        event(i, "notice", std::string(1000, '<'));
    }
    close();
    const std::string html = report();
    EXPECT_LT(html.size(), 5'000'000U);
    const json data = data_in(html);
    EXPECT_THAT(data["curves"], SizeIs(1));
    EXPECT_GT(data["ticks"].size(), 2U);
    // The last ones.
    EXPECT_GT(data["run"]["events"].size(), 20U);
    EXPECT_EQ(data["run"]["events"].size() + data["run"]["events_left_out"].get<std::size_t>(), 600U);
    EXPECT_EQ(data["run"]["events"].back()["time"], kBegan + 299);
}

TEST_F(AReport, APageThatCannotBeInlinedIsRefused) {
    EXPECT_FALSE(assemble_html(kIndex, "a = '</SCRIPT>'", "", "{}"));
    EXPECT_FALSE(assemble_html(kIndex, "a = '<!--'", "", "{}"));
    EXPECT_FALSE(assemble_html(kIndex, "", "</style", "{}"));
    EXPECT_FALSE(assemble_html("<html></html>", "", "", "{}"));
    EXPECT_TRUE(assemble_html(kIndex, "1 < 2", "a { }", "{}"));
}

}  // namespace html_report_test
}  // namespace memscope::web
