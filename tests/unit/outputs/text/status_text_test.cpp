#include "outputs/text/status_text.h"

#include <gmock/gmock.h>

#include "base/text.h"
#include "example.h"
#include "outputs/text/process_rows.h"
#include "outputs/text/text_layout.h"

namespace memscope {
namespace status_text_test {

using testing::HasSubstr;
using testing::Not;

std::string text_of(const Snapshot& snapshot) { return status_text(snapshot, snapshot.targets.at(0), false); }

void expect_at_most_80_columns(const std::string& text) {
    for_each_line(text, [](std::string_view line) { EXPECT_LE(display_width(line), 80) << line; });
}

TEST(StatusText, ShowsTheOwnerOfTheLimitAndTheHeadroom) {
    const std::string text = text_of(test::example());
    EXPECT_THAT(text, HasSubstr("64 % of 64 GiB"));
    EXPECT_THAT(text, HasSubstr("23 GiB of headroom below its own limit"));
    EXPECT_THAT(text, HasSubstr("47 GiB used, 41 GiB of it cannot be reclaimed"));
    expect_at_most_80_columns(text);
}

TEST(StatusText, NamesTheAncestorAndWhatItsOtherChildrenHold) {
    Snapshot snapshot = test::example();
    snapshot.targets[0].memory.effective = EffectiveLimit{"kubepods.slice", test::gib(64), test::gib(3)};
    EXPECT_THAT(text_of(snapshot),
                HasSubstr("3.0 GiB of headroom below the limit of kubepods.slice, where others hold 20 GiB"));
}

TEST(StatusText, TheLargestRoleIsFirst) {
    const std::string text = text_of(test::example());
    EXPECT_LT(text.find("trainer"), text.find("dataloader_worker"));
    EXPECT_LT(text.find("dataloader_worker"), text.find("launcher"));
}

TEST(StatusText, TheTreeIsIndentedByParent) {
    const std::string text = text_of(test::example());
    EXPECT_THAT(text, HasSubstr("    100  torchrun --nproc"));
    EXPECT_THAT(text, HasSubstr("    101  └─ train.py --config big.yaml "));
    EXPECT_THAT(text, HasSubstr("    110     ├─ pt_data_worker: "));
    EXPECT_THAT(text, HasSubstr("    112     └─ pt_data_worker: "));
}

TEST(StatusText, ShowsTwentyProcessesAndCountsTheRest) {
    Snapshot snapshot = test::example();
    auto& processes = snapshot.targets[0].processes;
    for (int i = 0; i < 52; ++i)
        processes.push_back(test::process(200 + i, 101, Role::compile_worker, "python3", "python3 -c x", test::mib(1)));
    const std::string text = text_of(snapshot);
    EXPECT_THAT(text, HasSubstr("... and 37 more, "));
    EXPECT_THAT(text, HasSubstr("    112  "));  // larger than the compile workers that came after it
    EXPECT_EQ(process_rows(processes, 20).rows.size(), 20);
    expect_at_most_80_columns(text);
}

TEST(StatusText, ASmallParentOfALargeProcessIsKept) {
    std::vector<Process> processes = {test::process(1, 0, Role::launcher, "sh", "sh", {}),
                                      test::process(2, 1, Role::launcher, "sh", "sh", {}),
                                      test::process(3, 2, Role::trainer, "python3", "python3", test::gib(1)),
                                      test::process(4, 1, Role::other, "x", "x", test::mib(1))};
    const auto tree = process_rows(processes, 3);
    ASSERT_EQ(tree.rows.size(), 3);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(tree.rows[static_cast<std::size_t>(i)].process->task.id.pid, i + 1);
    EXPECT_EQ(tree.left_out, 1);
}

TEST(StatusText, ProcessesAreSortedByTheirOwnMemory) {
    std::vector<Process> processes = {test::process(1, 0, Role::trainer, "python3", "python3", test::gib(31)),
                                      test::process(2, 1, Role::dataloader_worker, "w", "w", test::gib(31)),
                                      test::process(3, 1, Role::compile_worker, "c", "c", test::gib(2))};
    processes[1].inherited = test::gib(30);
    const auto tree = process_rows(processes, 3);
    ASSERT_EQ(tree.rows.size(), 3);
    EXPECT_EQ(tree.rows[1].process->task.id.pid, 3);
    EXPECT_EQ(process_rows(processes, 2).rows[1].process->task.id.pid, 3) << "nor is the larger one left out";
    EXPECT_EQ(process_rows(processes, 2).left_out_held, test::gib(1) + test::mib(8));
}

TEST(StatusText, ACycleOfParentsIsDrawnOnce) {
    std::vector<Process> processes = {test::process(1, 2, Role::other, "a", "a", {}),
                                      test::process(2, 1, Role::other, "b", "b", {}),
                                      test::process(3, 3, Role::other, "c", "c", {})};
    EXPECT_EQ(process_rows(processes, 20).rows.size(), 3);
}

TEST(StatusText, WithoutTroubleThereIsNoTroubleLine) {
    EXPECT_THAT(text_of(test::example()), Not(HasSubstr("dropped")));
    Snapshot snapshot = test::example();
    snapshot.self.dropped["tree_ring_full"] = 5;
    snapshot.targets[0].memory.events->oom_kill = 1;
    EXPECT_THAT(text_of(snapshot), HasSubstr("oom_kill 1   5 events dropped"));
}

TEST(StatusText, APrecursorIsShownInFullWithItsAge) {
    Snapshot snapshot = test::example();
    snapshot.targets[0].precursors = {
        {PrecursorKind::reclaim, snapshot.time - 90,
         "its threads lost 4 s of the last 60 s (6.6 %) because they had to free memory before they got any"}};
    const std::string text = text_of(snapshot);
    EXPECT_THAT(text,
                HasSubstr("\nreclaim, for 90 s: its threads lost 4 s of the last 60 s (6.6 %) because they\nhad to "
                          "free memory before they got any\n"));
    expect_at_most_80_columns(text);
}

TEST(StatusText, StaysInsideItsWidthWithHostileAndEnormousValues) {
    Snapshot snapshot = test::example();
    auto& target = snapshot.targets[0];
    target.info.name = std::string(300, 'n').append("\x1b[31m");
    target.info.kind = std::string("\xc2\x9b") + "31m";
    target.memory.usage = target.memory.unreclaimable = target.memory.swap = Bytes{~0ULL};
    target.memory.by_kind = {test::mib(1023), test::mib(1023), test::mib(1023), test::mib(1023), test::mib(1023)};
    target.memory.effective = EffectiveLimit{"/日本語/" + std::string(200, 'o'), Bytes{1}, Bytes{}};
    target.memory.events = MemoryEvents{~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL};
    target.roles[{Role::dataloader_worker, 2147483647}] = {Bytes{~0ULL}, Bytes{~0ULL}, {}, {}, ~0ULL, ~0ULL};
    pid_t parent = 1;
    for (pid_t pid = 4194000; pid < 4194040; parent = pid++) {
        target.processes.push_back(test::process(pid, parent, Role::dataloader_worker, "日本\n\x1b[2J\xff",
                                                 "/opt/日本語日本語日本語日本語日本語日本語日本語/日本語 --x",
                                                 test::mib(1023)));
        target.processes.back().rank = 123456;
    }
    const std::string text = text_of(snapshot);
    expect_at_most_80_columns(text);
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos);
    EXPECT_EQ(valid_utf8(text), text);
}

TEST(StatusText, ColourChangesNothingButColour) {
    const Snapshot snapshot = test::example();
    std::string coloured = status_text(snapshot, snapshot.targets[0], true);
    EXPECT_NE(coloured.find('\x1b'), std::string::npos);
    for (auto start = coloured.find('\x1b'); start != std::string::npos; start = coloured.find('\x1b'))
        coloured.erase(start, coloured.find('m', start) - start + 1);
    EXPECT_EQ(coloured, text_of(snapshot));
}

TEST(StatusText, AnEmptyTargetWithoutLimitIsShown) {
    Snapshot snapshot = test::example();
    auto& target = snapshot.targets[0];
    target.processes.clear();
    target.roles.clear();
    target.memory.effective.reset();
    const std::string text = text_of(snapshot);
    EXPECT_THAT(text, HasSubstr("no limit"));
    EXPECT_THAT(text, HasSubstr("no processes"));
}

TEST(Bar, IsEmptyOnlyAtZeroAndFullOnlyAtOne) {
    EXPECT_EQ(bar(4, {{0.001, "#"}}, "."), "#...");
    EXPECT_EQ(bar(4, {{0.999, "#"}}, "."), "###.");
    EXPECT_EQ(bar(4, {{7.0, "#"}}, "."), "####");
    EXPECT_EQ(bar(4, {{0, "#"}}, "."), "....");
}

TEST(Layout, WrapsAtSpacesAndCutsAWordThatIsTooLong) {
    EXPECT_THAT(wrapped_lines("one two three", 7), testing::ElementsAre("one two", "three"));
    EXPECT_THAT(wrapped_lines("a bottomless word", 5), testing::ElementsAre("a", "bott…", "word"));
    EXPECT_THAT(wrapped_lines("one", 80), testing::ElementsAre("one"));
}

TEST(Layout, CutsAtACharacterNotInsideIt) {
    EXPECT_EQ(left("日本語", 5), "日本…");
    EXPECT_EQ(left("日本語", 4), "日… ");
    EXPECT_EQ(right("ab", 4), "  ab");
}

TEST(StatusText, UnSharingIsExplainedInLinesThatFit) {
    Snapshot snapshot = test::example();
    EXPECT_THAT(text_of(snapshot), Not(HasSubstr("copied")));
    snapshot.targets[0].sharing.explanation =
        "3 workers have copied 2.1 GiB of the trainer's pages since they were forked; CPython's reference counts do "
        "this; keep datasets in arrays, not lists of objects";
    const std::string text = text_of(snapshot);
    EXPECT_THAT(text, HasSubstr("\n3 workers have copied 2.1 GiB of the trainer's pages"));
    EXPECT_THAT(text, HasSubstr("not lists of\nobjects.\n"));
    expect_at_most_80_columns(text);
}

TEST(StatusText, ShowsTheLimitThatIsReachedFirstBesideTheOneWithTheLeastHeadroom) {
    Snapshot snapshot = test::example();
    EXPECT_THAT(text_of(snapshot), HasSubstr("\nfull in 10 min: its own limit (64 GiB), basis leak\n"));
    snapshot.targets[0].verdicts[0].forecast->limit = EffectiveLimit{"host", test::gib(256), test::gib(100)};
    snapshot.targets[0].verdicts[0].forecast->basis = Forecast::Basis::trend;
    const std::string text = text_of(snapshot);
    EXPECT_THAT(text, HasSubstr("23 GiB of headroom below its own limit"));
    EXPECT_THAT(text, HasSubstr("\nfull in 10 min: the host's memory (256 GiB), basis trend\n"));
    snapshot.targets[0].verdicts[0].forecast.reset();
    EXPECT_THAT(text_of(snapshot), Not(HasSubstr("full in")));
}

TEST(StatusText, TheBarIncludesSwapIfTheLimitDoes) {
    Snapshot snapshot = test::example();
    auto& memory = snapshot.targets[0].memory;
    memory.unreclaimable = memory.usage = test::gib(16);
    memory.swap = test::gib(32);
    memory.effective = EffectiveLimit{"own", test::gib(64), test::gib(16)};
    const std::string text = text_of(snapshot);
    EXPECT_THAT(text, HasSubstr("75 % of 64 GiB"));
    std::size_t filled = 0;
    for (auto at = text.find("█"); at < text.find(" % of 64 GiB"); at = text.find("█", at + 1)) ++filled;
    EXPECT_EQ(filled, 42U) << "three quarters of 56 columns";
}

Snapshot with_death(double seconds_ago) {
    Snapshot snapshot = test::example();
    Death death{.time = snapshot.time - seconds_ago, .cause = DeathCause::sigkill};
    death.explanation = "python3 was killed";
    snapshot.targets[0].last_death = death;
    snapshot.targets[0].death_tally.add(death);
    return snapshot;
}

TEST(StatusText, ADeathOfTheLastHourIsFirst) {
    EXPECT_THAT(text_of(with_death(12)), testing::StartsWith("train: death, 12 s ago: python3 was killed\n\ntrain"));
    EXPECT_THAT(text_of(with_death(3599)), testing::StartsWith("train: death, 60 min ago"));
}

TEST(StatusText, AnOlderDeathIsBelow) {
    const std::string text = text_of(with_death(3700));
    EXPECT_THAT(text, testing::StartsWith("train  "));
    EXPECT_THAT(text, HasSubstr("\n\ntrain: death, 62 min ago: python3 was killed\n"));
}

TEST(StatusText, SaysHowManyDied) {
    EXPECT_EQ(text_of(test::example()).find("ago: "), std::string::npos);
    Snapshot snapshot = with_death(12);
    TargetSnapshot& target = snapshot.targets[0];
    target.death_tally.add(*target.last_death);
    EXPECT_THAT(text_of(snapshot), testing::StartsWith("train: the last of 2 deaths, 12 s ago: python3 was killed\n"));
}

// Two workers that share 30 of the trainer's 31 GiB.
Snapshot with_inherited_pages() {
    Snapshot snapshot = test::example();
    TargetSnapshot& target = snapshot.targets[0];
    target.processes.pop_back();
    target.roles.erase({Role::dataloader_worker, 0});
    for (Process& process : target.processes) {
        if (process.role != Role::dataloader_worker) continue;
        process.task.memory->anon = test::gib(31);
        process.inherited = test::gib(30);
        RoleTotals& totals = target.roles[{process.role, process.rank}];
        totals.anon += test::gib(31);
        totals.inherited += test::gib(30);
        ++totals.processes;
    }
    return snapshot;
}

TEST(StatusText, PagesInheritedFromTheTrainerDoNotCountForItsWorkers) {
    const std::string text = text_of(with_inherited_pages());
    EXPECT_LT(text.find("\ntrainer "), text.find("\ndataloader_worker "));
    EXPECT_THAT(text, HasSubstr("dataloader_worker    0     2       0  2.0 GiB   60 GiB "));
    EXPECT_THAT(text, testing::ContainsRegex("pt_data_worker:.* dataloader_worker 0 +1.0 GiB +30 GiB +31 GiB\n"));
    EXPECT_THAT(text, HasSubstr("COW: pages that a process still shares with its parent; the parent counts them."));
    expect_at_most_80_columns(text);
    Snapshot with_gpus = test::example(true);
    with_gpus.targets[0].processes = with_inherited_pages().targets[0].processes;
    expect_at_most_80_columns(text_of(with_gpus));
    EXPECT_THAT(text_of(test::example()), Not(HasSubstr("COW"))) << "nobody shares any";
}

TEST(StatusText, ShowsTheKernelsHighWaterMark) {
    Snapshot snapshot = test::example();
    EXPECT_THAT(text_of(snapshot), HasSubstr("\nthe kernel's high-water mark is 50 GiB, with page cache\n"));
    snapshot.targets[0].memory.peak.reset();
    EXPECT_THAT(text_of(snapshot), Not(HasSubstr("high-water")));
}

TEST(StatusText, UnSharingIsNotShownTwice) {
    Snapshot snapshot = test::example();
    snapshot.targets[0].sharing.explanation = "3 workers have copied 2.1 GiB";
    EXPECT_THAT(text_of(snapshot), HasSubstr("3 workers have copied"));
    snapshot.targets[0].verdicts[0].cause = GrowthCause{.kind = GrowthCause::Kind::unsharing};
    EXPECT_THAT(text_of(snapshot), Not(HasSubstr("3 workers have copied"))) << "the verdict has said so";
}

TEST(TargetKind, AProcessHasItsPidBesideItsName) {
    EXPECT_EQ(target_kind_text({.name = "train", .cgroup_version = 1}), "cgroup v1");
    EXPECT_EQ(target_kind_text({.name = "pid:train.py", .kind = "pid", .pid = 4711}), "pid 4711, cgroup v2");
    EXPECT_EQ(target_kind_text({.name = "cmd:train.py", .kind = "command", .pid = 12}), "pid 12, cgroup v2");
    EXPECT_EQ(target_kind_text({.name = "x", .kind = "p\x1b[31m"}).find('\x1b'), std::string::npos);
}

}  // namespace status_text_test
}  // namespace memscope
