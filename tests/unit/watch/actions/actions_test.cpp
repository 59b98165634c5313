#include "watch/actions/actions.h"

#include <csignal>
#include <fstream>
#include <gmock/gmock.h>
#include <poll.h>
#include <sstream>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>

#include "support/dead_job.h"
#include "support/fake_tree.h"
#include "support/json.h"

namespace memscope {
namespace actions_test {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string text_of(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

// A zombie counts as gone, too, because the test does not control which process waits for a grandchild.
bool is_gone(pid_t pid) {
    const auto stat = read_file("/proc/" + std::to_string(pid) + "/stat");
    return !stat || stat->find(") Z ") != std::string::npos;
}

// Waits at most 5 s. Returns whether this process has no children any more.
bool children_end() {
    for (int i = 0; i < 500; ++i) {
        pid_t pid = 0;
        while ((pid = ::waitpid(-1, nullptr, WNOHANG)) > 0) {
        }
        if (pid < 0) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
}

// Commands that are really run, by a real helper.
struct Acting : testing::Test {
    FakeTree tree{{"out/", ""}};
    WatchOptions options{.quiet = true, .on_timeout = Seconds{20}};
    std::set<pid_t> dead{};
    std::optional<Actions> actions{};
    double time = 100;

    void begin() {
        auto started = Actions::start(options, [this](ProcessId id) { return !dead.contains(id.pid); });
        ASSERT_TRUE(started) << started.error().message();
        actions.emplace(std::move(*started));
    }
    std::vector<std::string> shell(const std::string& script) const {
        return {"sh", "-c", "cd " + tree.at("out").string() + " && " + script};
    }
    fs::path out(const std::string& name) const { return tree.at("out") / name; }
    std::uint64_t count(ActionEvent event, ActionOutcome outcome) const { return actions->tally().of(event, outcome); }

    static Snapshot with(std::vector<Precursor> precursors) {
        Snapshot snapshot;
        snapshot.time = test::kDied;
        snapshot.targets = {test::nearly_full()};
        snapshot.targets[0].precursors = std::move(precursors);
        return snapshot;
    }
    void await() {
        for (int i = 0; i < 3000 && !actions->idle(); ++i) {
            pollfd fd{actions->fd(), POLLIN, 0};
            ::poll(&fd, 1, 10);
            actions->pump();
        }
        EXPECT_TRUE(actions->idle());
    }
    void dies(int times = 1) {
        std::vector<ReportedDeath> deaths(static_cast<std::size_t>(times),
                                          {.target = {.name = "train"}, .deaths = {test::oom_kill_of_trainer()}});
        actions->take_deaths(deaths, 0, Seconds(time));
    }
};

const Precursor kNear{PrecursorKind::near_limit, 1, "97 % of its own limit"};
const Precursor kEta{PrecursorKind::eta, 1, "memory runs out"};

TEST_F(Acting, NamesTheRecordingOfTheTarget) {
    options.on_death = shell("echo $MEMSCOPE_RECORDING > path");
    begin();
    actions->name_recordings([](const std::string& target) { return "/r/" + target + ".memscope"; });
    dies();
    await();
    EXPECT_EQ(text_of(out("path")), "/r/train.memscope\n");
}

TEST_F(Acting, RunsOnceWhenAPrecursorBegins) {
    options.on_precursor = shell("env > env-$MEMSCOPE_PRECURSOR; cat > facts-$MEMSCOPE_PRECURSOR; echo >> runs");
    begin();
    const Snapshot calm = with({});
    const Snapshot near = with({kNear});
    const Snapshot both = with({kEta, kNear});
    actions->take_precursors(calm, Seconds(0));
    actions->take_precursors(near, Seconds(1));
    actions->take_precursors(near, Seconds(2));
    actions->take_precursors(both, Seconds(3));
    await();
    EXPECT_EQ(count(ActionEvent::precursor, ActionOutcome::ok), 2);
    EXPECT_EQ(text_of(out("runs")), "\n\n");
    const std::string environment = text_of(out("env-near_limit"));
    EXPECT_THAT(environment, HasSubstr("MEMSCOPE_REASON=97 % of its own limit\n"));
    EXPECT_THAT(environment, HasSubstr("MEMSCOPE_PID=101\n"));
    EXPECT_THAT(environment, HasSubstr("MEMSCOPE_TRAINER_PIDS=101\n"));
    EXPECT_THAT(environment, HasSubstr("PATH=")) << "and what the watcher was started with";
    EXPECT_EQ(nlohmann::json::parse(text_of(out("facts-eta")))["reason"], "memory runs out");
    EXPECT_EQ(nlohmann::json::parse(text_of(out("facts-near_limit")))["process"]["pid"], 101);
    EXPECT_THAT(actions->take_lines(), Contains("train: --on-precursor was run: eta, python3 (pid 101)"));
    EXPECT_THAT(actions->take_troubles(), IsEmpty());
}

TEST_F(Acting, DoesNotRunAgainAfterATickThatCouldNotReadTheTarget) {
    options.on_precursor = shell("echo >> runs");
    begin();
    const Snapshot near = with({kNear});
    actions->take_precursors(near, Seconds(1));
    actions->take_precursors(Snapshot{.unread = {near.targets[0].info.name}}, Seconds(2));
    actions->take_precursors(near, Seconds(3));
    await();
    EXPECT_EQ(count(ActionEvent::precursor, ActionOutcome::ok), 1U);
    actions->take_precursors(Snapshot{}, Seconds(4));  // the target has ended
    actions->take_precursors(near, Seconds(5));        // and another one has its name
    await();
    EXPECT_EQ(count(ActionEvent::precursor, ActionOutcome::ok), 2U);
}

TEST_F(Acting, RunsOnceForANewTargetWithTheNameOfOneThatHasEnded) {
    options.on_precursor = shell("echo >> runs");
    begin();
    actions->take_precursors(with({kNear}), Seconds(1));
    Snapshot both = with({kNear});  // the new target has the same precursor
    both.targets.push_back(both.targets[0]);
    both.targets[1].up = false;
    both.targets[1].precursors.clear();
    actions->take_precursors(both, Seconds(2));
    actions->take_precursors(with({kNear}), Seconds(3));
    await();
    EXPECT_EQ(text_of(out("runs")), "\n\n");
}

TEST_F(Acting, RunsForADeathOnlyIfNoPrecursorCommandIsSet) {
    options.on_death = shell("echo $MEMSCOPE_CAUSE >> out");
    begin();
    actions->take_precursors(with({kNear}), Seconds(1));
    EXPECT_TRUE(actions->idle());
    dies();
    await();
    EXPECT_EQ(text_of(out("out")), "oom_kill\n");
    EXPECT_EQ(count(ActionEvent::death, ActionOutcome::ok), 1);
}

TEST_F(Acting, NothingOfAHostileNameIsEverExecuted) {
    options.on_precursor = shell("printf '%s' \"$MEMSCOPE_COMM\" > comm");
    begin();
    Snapshot snapshot = with({kNear});
    snapshot.targets[0].processes[1].task.comm = "$(touch x);`y`\n";
    actions->take_precursors(snapshot, Seconds(1));
    await();
    EXPECT_EQ(text_of(out("comm")), R"($(touch x);`y`\n)");
    EXPECT_FALSE(fs::exists(out("x")));
}

TEST_F(Acting, AFailureIsCountedEachTimeAndPrintedOnce) {
    options.on_death = {"sh", "-c", "exit 3"};
    begin();
    dies(3);
    await();
    EXPECT_EQ(count(ActionEvent::death, ActionOutcome::failed), 3);
    EXPECT_THAT(actions->take_troubles(), ElementsAre("--on-death: ended with status 3"));
}

TEST_F(Acting, AMissingProgramIsPrintedOnceAtTheStart) {
    options.on_death = {"/no/such/program"};
    begin();
    EXPECT_THAT(actions->take_troubles(),
                ElementsAre("--on-death: program /no/such/program was not found; memscope continues to watch"));
    dies(2);
    await();
    EXPECT_EQ(count(ActionEvent::death, ActionOutcome::failed), 2);
    EXPECT_THAT(actions->take_troubles(), IsEmpty());
}

TEST_F(Acting, ACommandThatHangsIsKilledWithItsChildren) {
    options.on_timeout = Seconds{0.2};
    options.on_death = shell("trap '' TERM; sleep 60 & echo $! > child; wait; sleep 60");
    begin();
    const auto began = std::chrono::steady_clock::now();
    dies();
    EXPECT_LT(Seconds(std::chrono::steady_clock::now() - began), Seconds{0.2}) << "nobody waits for it";
    await();
    EXPECT_EQ(count(ActionEvent::death, ActionOutcome::timeout), 1);
    EXPECT_THAT(actions->take_troubles(), ElementsAre(HasSubstr("took longer than 200 ms")));
    const pid_t child = std::stoi(text_of(out("child")));
    for (int i = 0; i < 200 && !is_gone(child); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(is_gone(child)) << "its child is gone, too";
}

TEST_F(Acting, RunsFourCommandsAtATime) {
    options.on_death = shell("echo begin >> log; sleep 0.3; echo end >> log");
    begin();
    dies(8);
    await();
    EXPECT_EQ(count(ActionEvent::death, ActionOutcome::ok), 8);
    std::istringstream log(text_of(out("log")));
    int running = 0;
    int most = 0;
    for (std::string line; std::getline(log, line);) most = std::max(most, running += line == "begin" ? 1 : -1);
    EXPECT_EQ(most, 4);
}

TEST_F(Acting, ManyEventsRunAFewCommandsAndCountTheRest) {
    options.on_death = {"true"};
    begin();
    for (int i = 0; i < 100; ++i) dies();
    await();
    const auto ok = count(ActionEvent::death, ActionOutcome::ok);
    EXPECT_EQ(ok + count(ActionEvent::death, ActionOutcome::dropped), 100);
    EXPECT_GE(ok, 4);
    EXPECT_LE(ok, 20);
    EXPECT_THAT(actions->take_troubles(), Contains("--on-death: not run, because there are too many events"));
    actions->take_deaths({}, 5, Seconds(time));
    EXPECT_EQ(ok + count(ActionEvent::death, ActionOutcome::dropped), 105) << "those that nobody told of count, too";
}

TEST_F(Acting, DoesNotRunForAProcessThatHasEnded) {
    options.on_precursor = shell("echo $MEMSCOPE_PID > out");
    begin();
    dead = {101};
    actions->take_precursors(with({kNear}), Seconds(1));
    await();
    EXPECT_EQ(count(ActionEvent::precursor, ActionOutcome::dropped), 1);
    EXPECT_FALSE(fs::exists(out("out")));
}

TEST_F(Acting, TheCommandInheritsNoDescriptorsAndNoOuterVariables) {
    const Fd secret(::dup(STDERR_FILENO));  // not closed by exec
    ::setenv("MEMSCOPE_PID", "1", 1);       // of an outer memscope
    options.on_death = shell("ls -l /proc/self/fd > fds; env > environment");
    begin();
    ::unsetenv("MEMSCOPE_PID");
    dies();
    await();
    std::istringstream fds(text_of(out("fds")));
    int open = 0;
    for (std::string line; std::getline(fds, line);) open += line.find(" -> ") != std::string::npos ? 1 : 0;
    EXPECT_EQ(open, 4) << "0, 1, 2 and the directory that ls reads: " << text_of(out("fds"));
    EXPECT_THAT(text_of(out("environment")), HasSubstr("MEMSCOPE_PID=101\n"));
    EXPECT_THAT(text_of(out("environment")), testing::Not(HasSubstr("MEMSCOPE_PID=1\n")));
}

TEST_F(Acting, DestructionEndsTheHelperAndItsCommands) {
    options.on_death = shell("echo $$ > pid; echo $PPID > helper; exec sleep 60");
    begin();
    dies();
    for (int i = 0; i < 500 && text_of(out("helper")).empty(); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const pid_t command = std::stoi(text_of(out("pid")));
    const pid_t helper = std::stoi(text_of(out("helper")));
    actions.reset();
    int status = 0;
    EXPECT_EQ(::waitpid(helper, &status, 0), helper);
    EXPECT_TRUE(is_gone(command));
}

TEST_F(Acting, TheEndOfTheHelperIsPrintedAndItsCommandsAreCounted) {
    options.on_death = shell("echo $PPID >> helper; exec sleep 60");
    ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);  // the commands become children of this process when the helper ends
    begin();
    dies(6);
    // Another command may still be between fork and exec, where it cannot get a signal for the end of the helper yet.
    for (int i = 0; i < 500 && text_of(out("helper")).empty(); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ::kill(std::stoi(text_of(out("helper"))), SIGKILL);
    await();
    EXPECT_TRUE(children_end()) << "a command outlives the helper";
    ::prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
    EXPECT_LT(actions->fd(), 0) << "nothing to wait for any more";
    dies();
    EXPECT_EQ(count(ActionEvent::death, ActionOutcome::dropped), 7);
    EXPECT_THAT(actions->take_troubles(), SizeIs(1));
}

TEST_F(Acting, ForksNoHelperWithoutCommands) {
    begin();
    EXPECT_LT(actions->fd(), 0);
    actions->take_precursors(with({kNear}), Seconds(1));
    dies();
    EXPECT_EQ(actions->tally(), ActionTally{});
}

}  // namespace actions_test
}  // namespace memscope
