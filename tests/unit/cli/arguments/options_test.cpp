#include "cli/arguments/options.h"

#include <gmock/gmock.h>

#include "base/text.h"
#include "unit/cli/arguments/parsed.h"

namespace memscope {
namespace options_test {

using testing::ElementsAre;
using testing::HasSubstr;
using Watch = WatchOptions;

TEST(Options, ACgroupIsEnough) {
    const auto options = parsed<Watch>({"--cgroup", "train"});
    EXPECT_THAT(options.cgroups, ElementsAre("train"));
    EXPECT_FALSE(options.wait);
    EXPECT_EQ(options.interval, Seconds(1));
    EXPECT_EQ(options.duration, std::nullopt);
    EXPECT_EQ(options.listen, "127.0.0.1:9750");
    EXPECT_FALSE(options.http_status);
    EXPECT_FALSE(options.json);
    EXPECT_FALSE(options.quiet);
    EXPECT_FALSE(options.linger);  // its default depends on the kind of target
    EXPECT_TRUE(options.role_rules.empty());
}

TEST(Options, EveryOptionWithASpace) {
    const auto options =
        parsed<Watch>({"--cgroup", "a", "--wait", "--interval", "500ms", "--duration", "10m", "--listen", "0.0.0.0:80",
                       "--http-status", "--linger", "5s", "--json", "--quiet", "--cgroup", "b/**/x-*"});
    EXPECT_THAT(options.cgroups, ElementsAre("a", "b/**/x-*"));
    EXPECT_TRUE(options.wait);
    EXPECT_EQ(options.interval, Seconds(0.5));
    EXPECT_EQ(options.duration, Seconds(600));
    EXPECT_EQ(options.listen, "0.0.0.0:80");
    EXPECT_TRUE(options.http_status);
    EXPECT_EQ(options.linger, Seconds(5));
    EXPECT_TRUE(options.json);
    EXPECT_TRUE(options.quiet);
}

TEST(Options, EveryOptionWithAnEqualsSign) {
    const auto options =
        parsed<Watch>({"--cgroup=a", "--wait=true", "--interval=1h", "--duration=1ms", "--listen=[::1]:9750",
                       "--http-status=true", "--linger=0", "--json=true", "--quiet=false", "--cgroup=b=c"});
    EXPECT_THAT(options.cgroups, ElementsAre("a", "b=c"));
    EXPECT_TRUE(options.wait);
    EXPECT_EQ(options.interval, Seconds(3600));
    EXPECT_EQ(options.duration, Seconds(0.001));
    EXPECT_EQ(options.listen, "[::1]:9750");
    EXPECT_TRUE(options.http_status);
    EXPECT_EQ(options.linger, Seconds(0));
    EXPECT_TRUE(options.json);
    EXPECT_FALSE(options.quiet);
}

TEST(Options, HttpHostMayBeRepeatedAndIsCaseInsensitive) {
    EXPECT_THAT(parsed<Watch>({"--cgroup", "a"}).http_hosts, testing::IsEmpty());
    EXPECT_THAT(parsed<Watch>({"--cgroup", "a", "--http-host", "Node7", "--http-host=metrics.example."}).http_hosts,
                ElementsAre("node7", "metrics.example"));
}

TEST(Options, ListenNoneSwitchesHttpOff) {
    EXPECT_EQ(parsed<Watch>({"--cgroup", "a", "--listen", "none"}).listen, std::nullopt);
}

TEST(Options, NamesOfCgroupsAreNotInterpreted) {
    for (const char* name : {"-.slice", "[ab]", "[a,b]", "{}", "status", "a b", "\xff\n", "user@1000.service", "%%"})
        EXPECT_THAT(parsed<Watch>({"--cgroup", name}).cgroups, ElementsAre(name)) << printable(name);
}

TEST(Options, FlagsMayBeRepeated) {
    EXPECT_TRUE(parsed<Watch>({"--cgroup", "a", "--json", "--json"}).json);
    EXPECT_FALSE(parsed<Watch>({"--cgroup", "a", "--json", "--json=false"}).json);
}

TEST(Options, Status) {
    EXPECT_EQ(parsed<StatusOptions>({"status"}).target, std::nullopt);
    EXPECT_FALSE(parsed<StatusOptions>({"status"}).json);
    EXPECT_EQ(parsed<StatusOptions>({"status", "--target", "train"}).target, "train");
    EXPECT_EQ(parsed<StatusOptions>({"status", "--json", "--target=a/b"}).target, "a/b");
    EXPECT_TRUE(parsed<StatusOptions>({"status", "--json", "--target=a/b"}).json);
}

TEST(Options, DoctorAndDemo) {
    EXPECT_FALSE(parsed<DoctorOptions>({"doctor"}).json);
    EXPECT_TRUE(parsed<DoctorOptions>({"doctor", "--json"}).json);
    EXPECT_FALSE(parsed<DoctorOptions>({"doctor", "--json=false"}).json);
    EXPECT_EQ(parsed<DemoOptions>({"demo"}).scenario, "leak");
    for (const char* name : {"leak", "warmup", "spikes", "steps", "workers", "wrapper", "crashloop"}) {
        EXPECT_EQ(parsed<DemoOptions>({"demo", name}).scenario, name);
        EXPECT_THAT(parsed<Help>({"help"}).text, HasSubstr(name));
    }
    EXPECT_EQ(parsed<DemoOptions>({"demo"}).seconds, std::nullopt);
    EXPECT_EQ(parsed<DemoOptions>({"demo", "--scenario-seconds", "8", "steps"}).seconds, "8");
}

TEST(Options, OnlyWatchingReadsTheConfigFile) {
    const ReadFile never = [](const std::string&) -> Result<std::string> {
        ADD_FAILURE() << "the config file was read";
        return std::string();
    };
    parsed<StatusOptions>({"status"}, never);
    parsed<GrowthOptions>({"growth"}, never);
    parsed<HeapOptions>({"heap", "--pid", "7"}, never);
    parsed<VerdictOptions>({"verdict", "run.csv"}, never);
    parsed<DoctorOptions>({"doctor"}, never);
    parsed<DemoOptions>({"demo"}, never);
    parsed<Help>({"--help"}, never);
    parsed<Version>({"--version"}, never);
}

TEST(Options, OptionsAfterTheDashesBelongToTheCommand) {
    const auto options =
        parsed<WatchOptions>({"--memory-max", "512M", "--user", "nobody", "--", "python", "--json", "--", "x"});
    EXPECT_THAT(options.command, testing::ElementsAre("python", "--json", "--", "x"));
    EXPECT_EQ(options.memory_max, Bytes{512 << 20});
    EXPECT_EQ(options.user, "nobody");
    EXPECT_FALSE(options.json);
}

TEST(Options, CommandsForEventsAreSplitAndMayRunAsAnotherUser) {
    const auto options =
        parsed<WatchOptions>({"--cgroup", "a", "--on-precursor", "sh -c \"kill -USR1 $MEMSCOPE_PID\"",
                              "--on-death=tell 'two words'", "--on-timeout", "5s", "--user", "nobody"});
    EXPECT_THAT(options.on_precursor, testing::ElementsAre("sh", "-c", "kill -USR1 $MEMSCOPE_PID"));
    EXPECT_THAT(options.on_death, testing::ElementsAre("tell", "two words"));
    EXPECT_EQ(options.on_timeout, Seconds(5));
    EXPECT_EQ(options.user, "nobody");
}

TEST(Options, APidIsEnough) {
    const auto options = parsed<WatchOptions>({"--pid", "4711", "--no-maps", "--no-gpu"});
    EXPECT_EQ(options.pid, 4711);
    EXPECT_FALSE(options.maps || options.gpu);
    EXPECT_TRUE(options.cgroups.empty());
}

TEST(Options, TensorsAreCountedOnlyWhenAskedFor) {
    EXPECT_FALSE(parsed<WatchOptions>({"--cgroup", "a"}).torch);
    EXPECT_TRUE(parsed<WatchOptions>({"--cgroup", "a", "--torch"}).torch);
}

TEST(Options, GrowthDefaultsToTextOfTheOnlyTarget) {
    const auto usual = parsed<GrowthOptions>({"growth"});
    EXPECT_EQ(usual.format, "text");
    EXPECT_FALSE(usual.top || usual.target);
    EXPECT_FALSE(usual.since || usual.at_peak || usual.stacks);
    const auto peak = parsed<GrowthOptions>({"growth", "--since", "10m", "--at", "peak", "--stacks"});
    EXPECT_EQ(peak.since, "10m");
    EXPECT_TRUE(peak.at_peak && peak.stacks);
    const auto given = parsed<GrowthOptions>({"growth", "--target", "train", "--top=200", "--format", "pprof"});
    EXPECT_EQ(given.format, "pprof");
    EXPECT_EQ(given.top, 200U);
    EXPECT_EQ(given.target, "train");
}

TEST(Options, HeapNeedsOnlyAProcess) {
    const auto usual = parsed<HeapOptions>({"heap", "--pid", "4711"});
    EXPECT_EQ(usual.pid, 4711);
    EXPECT_FALSE(usual.again || usual.json);
    const auto given = parsed<HeapOptions>({"heap", "--pid=4711", "--again", "30s", "--top", "3", "--format", "json"});
    EXPECT_EQ(given.again, Seconds(30));
    EXPECT_EQ(given.top, 3U);
    EXPECT_TRUE(given.json);
    EXPECT_FALSE(given.type);
    EXPECT_EQ(parsed<HeapOptions>({"heap", "--target", "train", "--type", "torch.Tensor"}).type, "torch.Tensor");
}

TEST(Options, VerdictNeedsOnlyAFile) {
    const auto usual = parsed<VerdictOptions>({"verdict", "run.csv"});
    EXPECT_EQ(usual.file, "run.csv");
    EXPECT_EQ(usual.warmup, Seconds(20 * 60));
    EXPECT_FALSE(usual.limit || usual.json);
    EXPECT_TRUE(usual.fail_on.empty());
    const auto given = parsed<VerdictOptions>(
        {"verdict", "-", "--limit", "32G", "--warmup=5m", "--json", "--fail-on", "leaking,warming_up"});
    EXPECT_EQ(given.file, "-");
    EXPECT_EQ(given.limit, Bytes{32ULL << 30U});
    EXPECT_EQ(given.warmup, Seconds(300));
    EXPECT_TRUE(given.json);
    EXPECT_THAT(given.fail_on, testing::ElementsAre(Verdict::leaking, Verdict::warming_up));
}

TEST(Options, ReportDefaultsToTheLastReport) {
    EXPECT_EQ(parsed<ReportOptions>({"report"}).file, std::nullopt);
    EXPECT_EQ(parsed<ReportOptions>({"report"}).directory, "/var/lib/memscope");
    EXPECT_EQ(parsed<ReportOptions>({"report", "a.json"}).file, "a.json");
    EXPECT_TRUE(parsed<ReportOptions>({"report", "--json", "a.json"}).json);
    EXPECT_EQ(parsed<ReportOptions>({"report", "--report-dir", "/x"}).directory, "/x");
}

TEST(Options, RecordingsAreExportedListedAndCompared) {
    const auto exported = parsed<ExportOptions>({"export", "train", "--format", "openmetrics", "--from", "2h ago"});
    EXPECT_EQ(exported.recording, "train");
    EXPECT_EQ(exported.format, "openmetrics");
    EXPECT_EQ(exported.from, "2h ago");
    EXPECT_EQ(parsed<ExportOptions>({"export", "train"}).format, "csv");
    EXPECT_EQ(parsed<ExportOptions>({"export", "train", "--format", "perfetto", "--output", "a.pftrace"}).output,
              "a.pftrace");
    EXPECT_THAT(refusal({"export", "train", "--format", "recording", "--from", "2h ago"}),
                HasSubstr("copies the whole recording"));
    EXPECT_EQ(parsed<RecordingsOptions>({"recordings", "--remove", "x"}).remove, "x");
    const auto compared = parsed<CompareOptions>({"compare", "a", "b", "--fail-on", "peak>5%,leaking"});
    EXPECT_EQ(compared.base, "a");
    EXPECT_EQ(compared.head, "b");
    EXPECT_EQ(compared.rules.size(), 2U);
}

TEST(Options, WebShowsAWatcherOrARecording) {
    const auto live = parsed<WebOptions>({"web", "--target", "train"});
    EXPECT_EQ(live.recording, std::nullopt);
    EXPECT_EQ(live.target, "train");
    EXPECT_EQ(live.listen.text(), "127.0.0.1:0");
    EXPECT_TRUE(live.browser);
    const auto recorded =
        parsed<WebOptions>({"web", "a.memscope", "--no-browser", "--listen", "[::1]:80", "--record", "x"});
    EXPECT_EQ(recorded.recording, "a.memscope");
    EXPECT_EQ(recorded.listen.text(), "[::1]:80");
    EXPECT_FALSE(recorded.browser);
    EXPECT_EQ(recorded.directory, "x");
    for (const char* address : {"0.0.0.0:0", "[::]:80", "192.0.2.1:80"})
        EXPECT_THAT(refusal({"web", "--listen", address}), HasSubstr("loopback addresses only"));
    EXPECT_THAT(refusal({"web", "--listen", "none"}), HasSubstr("is not an address"));
}

TEST(Options, AnHtmlReportNeedsARecording) {
    const auto options = parsed<ReportOptions>({"report", "train", "--html", "out.html", "--with-commands"});
    EXPECT_EQ(options.html, "out.html");
    EXPECT_TRUE(options.with_commands);
    EXPECT_FALSE(parsed<ReportOptions>({"report", "train", "--html", "out.html"}).with_commands);
    EXPECT_THAT(refusal({"report", "--html", "out.html"}), HasSubstr("needs a recording"));
    EXPECT_THAT(refusal({"report", "train", "--with-commands"}), HasSubstr("needs --html"));
    EXPECT_THAT(refusal({"report", "train", "--html", "a", "--json"}), HasSubstr("only one of them"));
}

TEST(Options, ReportsAreWrittenToTheDirectoryOrSwitchedOff) {
    EXPECT_EQ(parsed<WatchOptions>({"--cgroup", "a"}).report_dir, "/var/lib/memscope");
    EXPECT_EQ(parsed<WatchOptions>({"--cgroup", "a", "--report-dir", "/x"}).report_dir, "/x");
    EXPECT_EQ(parsed<WatchOptions>({"--cgroup", "a", "--report-dir=none"}).report_dir, "");
    EXPECT_EQ(parsed<WatchOptions>({"--cgroup", "a"}).record, "/var/lib/memscope/recordings");
    EXPECT_EQ(parsed<WatchOptions>({"--cgroup", "a", "--record", "/x"}).record, "/x");
    EXPECT_EQ(parsed<WatchOptions>({"--cgroup", "a", "--record=none"}).record, "");
    EXPECT_EQ(parsed<WatchOptions>({"--cgroup", "a", "--record-max", "2M"}).record_max.n, 2U << 20U);
}

TEST(Options, JobOutputNeedsACommand) {
    const auto options = parsed<WatchOptions>({"--json", "--job-output", "job.log", "--", "true"});
    EXPECT_EQ(options.job_output, "job.log");
    EXPECT_THAT(refusal({"--cgroup", "a", "--job-output", "x"}), HasSubstr("--job-output: needs a command"));
}

TEST(Options, KnowsWhetherTheUserChoseTheListenAddress) {
    EXPECT_FALSE(parsed<WatchOptions>({"--cgroup", "a"}).listen_chosen);
    EXPECT_TRUE(parsed<WatchOptions>({"--cgroup", "a", "--listen", "127.0.0.1:9750"}).listen_chosen);
    EXPECT_TRUE(
        parsed<WatchOptions>({"--cgroup", "a"}, config_at(kDefaultConfig, "listen = '127.0.0.1:9750'")).listen_chosen);
}

TEST(Options, VerdictTakesColumnsUnitGpuAndInterval) {
    const auto options = parsed<VerdictOptions>(
        {"verdict", "a.csv", "--time", "when", "--value", "rss", "--unit", "MB", "--gpu", "1", "--interval", "5s"});
    EXPECT_EQ(options.choice.time, "when");
    EXPECT_EQ(options.choice.value, "rss");
    EXPECT_EQ(options.choice.unit, "MB");
    EXPECT_EQ(options.choice.gpu, "1");
    EXPECT_EQ(options.choice.interval, Seconds(5));
    EXPECT_THAT(refusal({"verdict", "a.csv", "--unit", "bits"}), HasSubstr("--unit: 'bits' is not a unit"));
    EXPECT_THAT(refusal({"verdict", "a.csv", "--interval", "0s"}), HasSubstr("--interval"));
}

TEST(Options, HelpHasManySpellings) {
    for (const auto& args : std::vector<std::vector<std::string>>{
             {"-h"}, {"--help"}, {"help"}, {"status", "--help"}, {"--cgroup", "a", "-h"}, {"--bogus", "--help"}})
        EXPECT_FALSE(parsed<Help>(args).text.empty());
}

TEST(Options, HelpFitsATerminalAndNamesEverything) {
    const std::string text = parsed<Help>({"help"}).text;
    for_each_line(text, [](std::string_view line) {
        EXPECT_LE(line.size(), 80U) << line;
        EXPECT_EQ(line.find('\t'), std::string_view::npos);
        EXPECT_FALSE(line.ends_with(' ')) << line;
    });
    for (const char* word :
         {"--cgroup",    "--wait",   "--interval", "--duration", "--listen",  "--http-status", "--linger", "--json",
          "--http-host", "--quiet",  "--config",   "--help",     "--version", "status",        "growth",   "doctor",
          "demo",        "--target", "--top",      "--format",   "verdict",   "--limit",       "--warmup", "--fail-on"})
        EXPECT_THAT(text, HasSubstr(word));
    EXPECT_TRUE(text.ends_with('\n'));
}

TEST(Options, VersionIsAskedForByName) { parsed<Version>({"--cgroup", "a", "--version"}); }

}  // namespace options_test
}  // namespace memscope
