#include <gmock/gmock.h>

#include "unit/cli/arguments/parsed.h"

namespace memscope {
namespace options_errors_test {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string watch_refusal(std::vector<std::string> args) {
    args.insert(args.begin(), {"--cgroup", "a"});
    return refusal(args);
}

TEST(OptionErrors, WithoutATargetTheErrorShowsTheUsage) {
    EXPECT_THAT(parsed<NothingToWatch>({}).error.message(),
                AllOf(HasSubstr("memscope --cgroup NAME"), HasSubstr("memscope --help")));
    EXPECT_THAT(refusal({"--quiet"}), HasSubstr("memscope --cgroup NAME"));
    EXPECT_THAT(refusal({"--json"}), HasSubstr("memscope --cgroup NAME"));
}

TEST(OptionErrors, SuggestsASimilarOption) {
    EXPECT_EQ(refusal({"--cgruop", "a"}), "--cgruop: unknown option; did you mean --cgroup?");
    EXPECT_EQ(refusal({"--cgruop=a"}), "--cgruop: unknown option; did you mean --cgroup?");
    EXPECT_THAT(watch_refusal({"--intervall", "1s"}), HasSubstr("did you mean --interval?"));
    EXPECT_THAT(watch_refusal({"--http_status"}), HasSubstr("did you mean --http-status?"));
    EXPECT_THAT(watch_refusal({"-json"}), HasSubstr("did you mean --json?"));
    EXPECT_THAT(refusal({"--hlep"}), HasSubstr("did you mean --help?"));
}

TEST(OptionErrors, TensorsNeedGpusAndMaps) {
    EXPECT_EQ(watch_refusal({"--torch", "--no-gpu"}), "--torch: does not work with --no-gpu; remove one of them");
    EXPECT_EQ(watch_refusal({"--torch", "--no-maps"}), "--torch: does not work with --no-maps; remove one of them");
}

TEST(OptionErrors, SuggestsNoDissimilarOption) {
    EXPECT_EQ(watch_refusal({"--colour"}), "--colour: unknown option; see memscope --help");
    EXPECT_THAT(watch_refusal({"-x"}), StartsWith("-x: unknown option"));
    EXPECT_THAT(watch_refusal({"-"}), StartsWith("-: unknown option"));
}

TEST(OptionErrors, OnlyOneThingCanBeWatched) {
    EXPECT_THAT(refusal({"--cgroup", "a", "--pid", "1"}), HasSubstr("only one of them"));
    EXPECT_THAT(refusal({"--pid", "1", "--", "true"}), HasSubstr("only one of them"));
    EXPECT_THAT(refusal({"--memory-max", "1G", "--cgroup", "a"}), HasSubstr("--memory-max: needs a command to run"));
    EXPECT_THAT(refusal({"--user", "nobody", "--pid", "1"}), HasSubstr("--user: needs a command to run"));
    EXPECT_THAT(refusal({"--"}), HasSubstr("no command follows it"));
    EXPECT_THAT(refusal({"status", "--", "true"}), HasSubstr("takes no command"));
    for (const char* pid : {"0", "-1", "abc", "99999999999", "1x"})
        EXPECT_THAT(refusal({"--pid", pid}), HasSubstr("is not a pid")) << pid;
    EXPECT_THAT(refusal({"--memory-max", "lots", "--", "true"}), HasSubstr("is not a size"));
}

TEST(OptionErrors, ACommandForAnEventIsNotAShellScript) {
    EXPECT_EQ(watch_refusal({"--on-precursor", "kill -USR1 $MEMSCOPE_PID"}),
              "--on-precursor: needs a shell for $; run it in a shell: sh -c \"...\"");
    EXPECT_THAT(watch_refusal({"--on-death", "tell 'me"}), StartsWith("--on-death: a quote is not closed"));
    EXPECT_THAT(watch_refusal({"--on-timeout", "0s"}), HasSubstr("from 100ms to 1h"));
    EXPECT_THAT(watch_refusal({"--on-death", "a", "--on-death", "b"}), HasSubstr("given 2 times"));
}

TEST(OptionErrors, ACommandWithoutItsDashesIsShownWithThem) {
    const auto asks = [](const std::vector<std::string>& words) { return refusal(words); };
    EXPECT_THAT(asks({"python3", "train.py", "--lr", "3"}),
                StartsWith("python3: unknown command; to run it and watch it: memscope -- python3 train.py --lr 3 ("));
    EXPECT_THAT(asks({"--memory-max", "4G", "--json", "python3", "a b.py"}),
                HasSubstr("memscope --memory-max 4G --json -- python3 'a b.py'"));
    EXPECT_THAT(asks({"--interval=1s", "./train.sh", "demo"}), HasSubstr("memscope --interval=1s -- ./train.sh demo"));
    EXPECT_THAT(asks({"torchrun", "train.py", "--config", "x"}), HasSubstr("memscope -- torchrun train.py --config x"));
    EXPECT_THAT(asks({"--cgroup", "a", "b"}), HasSubstr("repeat --cgroup"));
    EXPECT_THAT(asks({"growht", "x"}), HasSubstr("did you mean growth?"));
}

TEST(OptionErrors, UnknownCommands) {
    EXPECT_EQ(refusal({"statsu"}), "statsu: unknown command; did you mean status?");
    EXPECT_THAT(refusal({"frobnicate"}),
                AllOf(StartsWith("frobnicate: unknown command"), HasSubstr("memscope --help")));
    EXPECT_THAT(refusal({""}), HasSubstr("unknown command"));
}

TEST(OptionErrors, AGlobThatTheShellExpandedIsExplained) {
    EXPECT_THAT(refusal({"--cgroup", "job_1", "job_2"}), AllOf(StartsWith("job_2: "), HasSubstr("quotes")));
}

TEST(OptionErrors, OptionsOfAnotherCommand) {
    EXPECT_THAT(refusal({"status", "--cgroup", "a"}), HasSubstr("--cgroup: unknown option of memscope status"));
    EXPECT_THAT(refusal({"doctor", "--target", "a"}), HasSubstr("--target: unknown option of memscope doctor"));
    EXPECT_THAT(refusal({"--json", "status"}),
                AllOf(StartsWith("--json: is before the command status"), HasSubstr("after")));
    EXPECT_THAT(refusal({"--cgroup", "a", "doctor"}), StartsWith("--cgroup: is before the command doctor"));
    EXPECT_THAT(refusal({"status", "train"}), StartsWith("train: unexpected argument"));
    EXPECT_THAT(refusal({"status", "doctor"}), HasSubstr("doctor"));
}

TEST(OptionErrors, DemosThatDoNotExistListThoseThatDo) {
    EXPECT_EQ(refusal({"demo", "warm"}),
              "demo warm: there is no such demo; the demos are: leak, warmup, spikes, steps, workers, wrapper, "
              "fragmentation, crashloop");
    EXPECT_THAT(refusal({"demo", "leak", "leak"}), StartsWith("leak: unexpected argument"));
}

TEST(OptionErrors, MissingValues) {
    for (const char* option : {"--cgroup", "--interval", "--duration", "--listen", "--linger", "--config"}) {
        const std::string name = option;
        EXPECT_THAT(refusal({option}), StartsWith(name + ": needs a value"));
        EXPECT_THAT(refusal({option, "--json"}), StartsWith(name + ": needs a value, not '--json'"));
        EXPECT_THAT(refusal({name + "=", "x"}), HasSubstr("is empty"));
        EXPECT_THAT(refusal({option, ""}), StartsWith(name + ": is empty"));
    }
    EXPECT_THAT(refusal({"status", "--target"}), StartsWith("--target: needs a value"));
    EXPECT_THAT(refusal({"status", "--target", ""}), StartsWith("--target: is empty"));
}

TEST(OptionErrors, DurationsNeedAUnitAndASensibleSize) {
    for (const char* option : {"--interval", "--duration", "--linger"})
        for (const char* value : {"5", "-5s", "s", "1e3s", "1 s", "5x", "nan", "inf", "infs", "0x10s", "1s2s"})
            EXPECT_THAT(watch_refusal({option, value}),
                        AllOf(StartsWith(std::string(option) + ": '"), HasSubstr("500ms")))
                << value;
    EXPECT_EQ(watch_refusal({"--interval", "49ms"}), "--interval: '49ms' is out of range; from 50ms to 1h");
    EXPECT_THAT(watch_refusal({"--interval", "1.1h"}), HasSubstr("out of range"));
    EXPECT_THAT(watch_refusal({"--interval", "0s"}), HasSubstr("out of range"));
    EXPECT_THAT(watch_refusal({"--duration", "0s"}), HasSubstr("out of range"));
    EXPECT_THAT(watch_refusal({"--linger", "25h"}), HasSubstr("out of range"));
    EXPECT_THAT(watch_refusal({"--duration", std::string(300, '9') + "h"}), HasSubstr("out of range"));
    EXPECT_THAT(watch_refusal({"--duration", std::string(100'000, '9') + "h"}), HasSubstr("is not a duration"));
}

TEST(OptionErrors, Addresses) {
    for (const char* value : {"9750", ":9750", "localhost", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:http", "::1:80",
                              "[]:80", "127.0.0.1:-1", "http://127.0.0.1:80", "a b:80", "None"})
        EXPECT_THAT(watch_refusal({"--listen", value}), AllOf(StartsWith("--listen: '"), HasSubstr("127.0.0.1:9750")))
            << value;
    for (const char* value : {"n7:9750", "http://n7", "*.example", "a b"})
        EXPECT_THAT(watch_refusal({"--http-host", value}),
                    AllOf(StartsWith("--http-host: '"), HasSubstr("without port")))
            << value;
    EXPECT_THAT(watch_refusal({"--listen", "none", "--http-status"}), StartsWith("--http-status: needs an address"));
}

TEST(OptionErrors, Flags) {
    EXPECT_EQ(watch_refusal({"--json=banana"}), "--json: 'banana' is neither true nor false; see memscope --help");
    EXPECT_THAT(refusal({"doctor", "--json=banana"}), StartsWith("--json: 'banana' is neither true nor false"));
    EXPECT_THAT(refusal({"status", "--json=2"}), StartsWith("--json: '2' is neither true nor false"));
}

TEST(OptionErrors, Growth) {
    for (const char* value : {"0", "-1", "ten", "1.5", "99999999999999999999"})
        EXPECT_THAT(refusal({"growth", "--top", value}), StartsWith("--top: '")) << value;
    EXPECT_THAT(refusal({"growth", "--format", "jsn"}), HasSubstr("did you mean json?"));
    EXPECT_THAT(refusal({"growth", "--format", "svg"}), HasSubstr("the formats are: text, json, folded, pprof"));
    EXPECT_THAT(refusal({"growth", "--since", "noon"}), StartsWith("--since: 'noon' is neither start, nor warmup"));
    EXPECT_THAT(refusal({"growth", "--at", "noon"}), StartsWith("--at: 'noon' is neither now nor peak"));
    EXPECT_THAT(refusal({"growth", "--json"}), HasSubstr("unknown option of memscope growth"));
    EXPECT_THAT(refusal({"growth", "train"}), HasSubstr("unexpected argument of memscope growth"));
    EXPECT_THAT(refusal({"grwth"}), HasSubstr("did you mean growth?"));
    for (const char* value : {"0", "x", "4194305"})
        EXPECT_THAT(refusal({"heap", "--pid", value}), StartsWith("--pid: '")) << value;
    for (const char* value : {"0s", "30", "2h"})
        EXPECT_THAT(refusal({"heap", "--pid", "7", "--again", value}), StartsWith("--again: ")) << value;
    EXPECT_THAT(refusal({"heap", "--pid", "7", "--top", "0"}), StartsWith("--top: '"));
    EXPECT_THAT(refusal({"heap", "--pid", "7", "--format", "pprof"}), HasSubstr("the formats are: text, json"));
    EXPECT_THAT(refusal({"haep"}), HasSubstr("did you mean heap?"));
    EXPECT_THAT(refusal({"verdict"}), HasSubstr("the file is missing"));
    EXPECT_THAT(refusal({"verdict", "a.csv", "b.csv"}), HasSubstr("unexpected argument of memscope verdict"));
    EXPECT_THAT(refusal({"verdict", "a.csv", "--fail-on", "leakng"}), HasSubstr("did you mean leaking?"));
    EXPECT_THAT(refusal({"verdict", "a.csv", "--fail-on", "oom"}),
                HasSubstr("the verdicts are: insufficient, warming_up"));
    EXPECT_THAT(refusal({"verdict", "a.csv", "--limit", "lots"}), StartsWith("--limit: 'lots' is not a size"));
    EXPECT_THAT(refusal({"verdict", "a.csv", "--warmup", "20"}), StartsWith("--warmup: '20' is not a duration"));
    EXPECT_THAT(refusal({"verdict", "a.csv", "--warmup", "0s"}), HasSubstr("from 1s to 168h"));
}

TEST(OptionErrors, RefusesTwoValuesOfOneOption) {
    EXPECT_EQ(watch_refusal({"--interval", "1s", "--interval", "2s"}), "--interval: given 2 times; use it once");
    EXPECT_THAT(refusal({"status", "--target", "a", "--target", "b"}), StartsWith("--target: given 2 times"));
}

TEST(OptionErrors, HostileBytesStayOnOneLine) {
    EXPECT_THAT(watch_refusal({"--interval", "\x1b[31m\n5s"}), HasSubstr("\\x1b[31m\\n5s"));
    EXPECT_THAT(watch_refusal({"--\x1b\n"}), HasSubstr("--\\x1b\\n"));
    EXPECT_THAT(refusal({"\xff\xfe\r"}), HasSubstr("unknown command"));
    refusal({std::string(1 << 20, 'x')});
    refusal({"--" + std::string(1 << 20, 'x')});
    refusal({"demo", std::string(1 << 20, '\n')});
}

}  // namespace options_errors_test
}  // namespace memscope
