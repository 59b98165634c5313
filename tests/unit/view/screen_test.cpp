#include "view/screen.h"

#include <gmock/gmock.h>

#include "base/text.h"
#include "example.h"
#include "outputs/text/text_layout.h"
#include "view/panels.h"

namespace memscope::view {
namespace screen_test {

using test::example;
using test::gib;
using test::mib;
using test::Screen;
using testing::HasSubstr;
using testing::Not;
using Code = Key::Code;

void expect_inside(const Scene& scene, const Look& look) {
    EXPECT_LE(scene.lines.size(), look.height);
    for (const Line& line : scene.lines) {
        EXPECT_LE(line.width(), look.width) << look.width << "x" << look.height << ": " << line.text();
        const std::string text = line.text();
        EXPECT_EQ(text, printable(text));
    }
}

// Names with escape sequences, wide and long names, names that are not UTF-8, and the largest numbers.
Snapshot hostile() {
    Snapshot snapshot = example();
    snapshot.self.dropped["x"] = ~0ULL;
    for (int t = 0; t < 10; ++t) {
        auto target = test::training(("\x1b[2J日本語" + std::string(static_cast<std::size_t>(t) * 30, 'n')).c_str());
        target.memory.effective = EffectiveLimit{"/日本語/\xff" + std::string(200, 'o'), Bytes{1}, Bytes{}};
        target.memory.usage = target.memory.unreclaimable = target.memory.swap = Bytes{~0ULL};
        target.memory.events = MemoryEvents{~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL};
        target.memory.pressure = Pressure{Seconds{1}, Seconds{1}, 1, 1};
        target.shm = ShmUsage{Bytes{~0ULL}, Bytes{1}};
        target.up = t % 2 == 0;
        for (int i = 0; i < 7; ++i) {
            target.processes.push_back(test::process(4194000 + i, Role::dataloader_worker, "日本\n\x1b[2J\xff",
                                                     "/opt/日本語日本語日本語日本語/日本語 --x \xe2\x80\xae", {~0ULL}));
            target.processes.back().rank = 2147483647 - i;
            target.processes.back().task.memory->file = {};
            target.processes.back().task.memory->shmem = {};
        }
        target.processes.back().task.memory.reset();
        test::count_roles(target);
        snapshot.targets.push_back(std::move(target));
    }
    return snapshot;
}

TEST(ViewScreen, NeverExceedsItsSizeWithAnyNames) {
    Screen screen(hostile());
    screen.tick([] {
        Snapshot next = hostile();
        next.time += 1;
        return next;
    }());
    add_note(screen.state, screen.snapshot.time, "a \x1b[31m note 日本語 " + std::string(300, 'x'));
    screen.type("n");
    screen.growth.emplace().resident.sites = {{.bytes = INT64_MIN,
                                               .role = {Role::trainer, -1},
                                               .python = {{"日本\x1b[2J\n", "/\xff" + std::string(99, 'd'), 7}}},
                                              {.bytes = INT64_MAX, .native = {{"", "/lib/\x1b", ~0ULL}}},
                                              {}};
    screen.growth->resident.unattributed = {{"\x1b\n", INT64_MAX}};
    for (const bool help : {false, true})
        for (const bool typing : {false, true}) {
            screen.state.help = help;
            screen.state.typing = typing;
            screen.state.growth = typing == help ? GrowthPanel::off : GrowthPanel::resident;
            screen.state.filter = typing ? "日" : "";
            for (std::size_t width = 1; width <= 200; width += width < 30 ? 1 : width < 100 ? 5 : 25)
                for (std::size_t height = 1; height <= 60; height += height < 20 ? 1 : 5) {
                    screen.look = {width, height, width % 2 == 0};
                    screen.key(Code::down);
                    expect_inside(screen.scene, screen.look);
                }
        }
}

TEST(ViewScreen, SaysThatThereIsNoTarget) {
    Screen screen(Snapshot{});
    EXPECT_THAT(screen.text(), HasSubstr("no target yet"));
    for (std::size_t size = 1; size < 30; ++size) {
        screen.look = {size, size};
        for (const Code code : {Code::up, Code::tab, Code::enter, Code::end}) screen.key(code);
        screen.type("ns /");
        expect_inside(screen.scene, screen.look);
    }
}

TEST(ViewScreen, ShowsTheHeadroomAndTheOwnerOfTheLimit) {
    Screen screen;
    EXPECT_THAT(screen.text(), HasSubstr("64 % of 64 GiB"));
    EXPECT_THAT(screen.text(), HasSubstr("23 GiB headroom below its own limit"));
    EXPECT_THAT(screen.text(), HasSubstr("41 GiB of 47 GiB unreclaimable"));
    EXPECT_THAT(screen.text(), HasSubstr("anon 40 GiB"));
    EXPECT_THAT(screen.text(), HasSubstr("pressure some 0.0 % full 0.0 %"));
    screen.snapshot.targets[0].memory.effective = EffectiveLimit{"kubepods.slice", gib(64), gib(3)};
    screen.snapshot.targets[0].memory.pressure.reset();
    screen.draw();
    EXPECT_THAT(screen.text(), HasSubstr("3.0 GiB headroom below kubepods.slice, where others hold 20 GiB"));
    EXPECT_THAT(screen.text(), Not(HasSubstr("pressure")));
    screen.snapshot.targets[0].memory.effective.reset();
    screen.draw();
    EXPECT_THAT(screen.text(), HasSubstr("47 GiB used, no limit"));
}

TEST(ViewScreen, PagesThatAWorkerInheritedHaveAColumnOfTheirOwn) {
    Snapshot snapshot = example();
    EXPECT_THAT(Screen(snapshot).text(), Not(HasSubstr(" COW ")));
    Process& worker = snapshot.targets[0].processes[3];
    worker.task.memory->anon = gib(31);
    worker.inherited = gib(30);
    test::count_roles(snapshot.targets[0]);
    Screen screen(snapshot);
    EXPECT_THAT(screen.text(), testing::ContainsRegex(" OWN +COW +FILE"));
    EXPECT_THAT(screen.text(), testing::ContainsRegex("pt_data_worker.* 111 +1.0G +30G "));
    EXPECT_THAT(screen.text(), testing::ContainsRegex("dataloader_worker +×3 +4.0G +30G "));
    EXPECT_THAT(screen.names(),
                testing::ElementsAre("trainer", "101", "dataloader_worker", "110", "111", "112", "launcher", "100"));
}

TEST(ViewScreen, MemoryKindsDifferWithoutColour) {
    Screen screen;
    screen.look.colour = false;
    screen.draw();
    for (const char* legend : {"█ anon", "▓ shmem", "▒ file", "▚ kernel", "· other"})
        EXPECT_THAT(screen.text(), HasSubstr(legend));
}

TEST(ViewScreen, ThePartsOfTheHeapAreBelowTheKindsOnceThereIsACensus) {
    Screen screen;
    screen.look = {.width = 120, .height = 40, .colour = false};
    screen.draw();
    EXPECT_THAT(screen.text(), Not(HasSubstr("malloc free")));
    ProcessHeap heap{.role = {Role::trainer, 0}, .census = {.process = {101, 1}, .time = screen.snapshot.time - 120}};
    heap.census.part(HeapPart::malloc_live) = gib(11);
    heap.census.part(HeapPart::malloc_free) = gib(20);
    screen.snapshot.targets[0].heap = {heap};
    screen.draw();
    expect_inside(screen.scene, screen.look);
    EXPECT_THAT(screen.text(), testing::ContainsRegex("· other.*\n.*█+░+.*\n.*█ malloc live 11G ░ malloc free 20G .*"
                                                      "trainer of rank 0, pid 101, 2 min ago"));
    for (const std::size_t height : {10, 20, 24, 30})
        for (const std::size_t width : {20, 60, 80}) {
            screen.look = {.width = width, .height = height, .colour = true};
            screen.draw();
            expect_inside(screen.scene, screen.look);
        }
}

TEST(ViewScreen, TheLineOfTheRoleShowsSizesAndItsGrowth) {
    Screen screen;
    Snapshot next = example(1001);
    next.targets[0].processes[1].task.memory->anon += mib(8);
    test::count_roles(next.targets[0]);
    screen.tick(next);
    EXPECT_THAT(screen.text(), testing::ContainsRegex("trainer +×1 +31G +10M +2.0M +31G +\\+8.0M +0 "));
    EXPECT_THAT(screen.text(), testing::ContainsRegex("python3 -u tr.* 101 +31G +10M +2.0M +31G +\\+8.0M +0"));
}

TEST(ViewScreen, LossIsShownOnlyWhenThereIsSome) {
    Screen screen;
    EXPECT_THAT(screen.text(), Not(HasSubstr("dropped")));
    screen.snapshot.self.dropped["tree_ring_full"] = 12;
    screen.draw();
    EXPECT_THAT(screen.text(), HasSubstr("12 dropped"));
    EXPECT_EQ(screen.scene.lines.back().spans[screen.scene.lines.back().spans.size() - 2].style, Style::bad);
}

TEST(ViewScreen, APresentPrecursorHasALine) {
    Screen screen;
    EXPECT_THAT(screen.text(), Not(HasSubstr("near_limit")));
    const std::size_t page = screen.scene.page;
    screen.snapshot.targets[0].precursors = {{PrecursorKind::near_limit, 940, "58 GiB of 64 GiB cannot be reclaimed"},
                                             {PrecursorKind::shm_full, 999.5, "/dev/shm is full"}};
    screen.draw();
    EXPECT_THAT(screen.text(), HasSubstr("near_limit for 60 s: 58 GiB of 64 GiB cannot be reclaimed"));
    EXPECT_THAT(screen.text(), HasSubstr("shm_full for 1 s: /dev/shm is full"));
    EXPECT_EQ(screen.scene.page, page - 2) << "the tree gets fewer rows";
}

TEST(ViewScreen, MorePrecursorsThanRoomAreNamedInOneLine) {
    Screen screen;
    for (const PrecursorKind kind : kPrecursorKinds)
        screen.snapshot.targets[0].precursors.push_back({kind, 940, "a reason"});
    screen.look = {80, 16, true};
    screen.draw();
    EXPECT_THAT(screen.text(), HasSubstr("eta for 60 s: a reason"));
    EXPECT_THAT(screen.text(),
                HasSubstr("near_limit pressure reclaim refault high_throttled shm_full host_low as well"));
}

TEST(ViewScreen, TheFirstLineHasTheVerdictAndTheExplanationIsBelow) {
    Screen screen;
    ScopeVerdict verdict;
    verdict.judgement.verdict = Verdict::leaking;
    verdict.forecast = Forecast{.eta = std::chrono::minutes(12)};
    verdict.explanation = "The floor has risen.";
    screen.snapshot.targets[0].verdicts = {verdict};
    screen.look = {120, 40, true};
    screen.draw();
    EXPECT_THAT(screen.text(), testing::StartsWith(" train  leaking, full in 12 min"));
    EXPECT_THAT(screen.text(), HasSubstr("\n The floor has risen.\n"));
    screen.look = {80, 10, true};
    screen.draw();
    EXPECT_THAT(screen.text(), testing::StartsWith(" train  leaking"));
    EXPECT_THAT(screen.text(), Not(HasSubstr("The floor")));
}

TEST(ViewScreen, NamesTheLimitThatIsReachedFirstWhereTheBarShowsAnother) {
    Screen screen;
    ScopeVerdict verdict;
    verdict.judgement.verdict = Verdict::stable;
    verdict.forecast = Forecast{.eta = std::chrono::minutes(12), .limit = EffectiveLimit{"host", gib(256), gib(9)}};
    screen.snapshot.targets[0].verdicts = {verdict};
    screen.look = {120, 40, true};
    screen.draw();
    EXPECT_THAT(screen.text(), testing::StartsWith(" train  stable, the host's memory full in 12 min"));
    EXPECT_THAT(screen.text(), HasSubstr("23 GiB headroom below its own limit"));
}

// The trainer and a worker died at the same time.
Snapshot with_death(double time = 1000) {
    Snapshot snapshot = example(time);
    Death death{.time = time - 3, .id = {101, 1}, .comm = "python3", .cause = DeathCause::oom_kill};
    death.explanation = "the kernel killed python3 (pid 101)";
    Death worker{.time = time - 3, .id = {110, 1}, .comm = "python3", .cause = DeathCause::signal};
    worker.news = false;
    snapshot.targets[0].deaths = {death, worker};
    snapshot.targets[0].last_death = death;
    return snapshot;
}

TEST(ViewScreen, ADeathIsTheFirstLineUntilItIsConfirmed) {
    Screen screen;
    screen.tick(with_death());
    EXPECT_THAT(screen.text(),
                testing::StartsWith(" DEATH 3 s ago in train: The kernel killed python3 (pid 101). 1 more"));
    EXPECT_THAT(screen.text(), HasSubstr(" x seen"));
    screen.tick(example(1600));
    EXPECT_THAT(screen.text(), testing::StartsWith(" DEATH 10 min ago in train:"));
    screen.key(Code::down);
    screen.type("s");
    EXPECT_THAT(screen.text(), testing::StartsWith(" DEATH")) << "other keys do other things";
    screen.type("x");
    EXPECT_THAT(screen.text(), testing::StartsWith(" train"));
    EXPECT_THAT(screen.text(), Not(HasSubstr("x seen")));
    EXPECT_EQ(screen.type("x"), Reaction::none);
}

TEST(ViewScreen, ADeathStaysWhenItsTargetIsGoneAndIsShownOnce) {
    Screen screen;
    screen.tick(with_death());
    screen.tick(with_death());  // the same tick, drawn again
    Snapshot gone = example(1010);
    gone.targets.clear();
    screen.tick(gone);
    EXPECT_THAT(screen.text(), testing::StartsWith(" DEATH 13 s ago in train:"));
    EXPECT_THAT(screen.text(), HasSubstr("no target yet"));
    EXPECT_THAT(screen.text(), Not(HasSubstr("earlier.")));
    screen.tick(with_death(1020));
    EXPECT_THAT(screen.text(), HasSubstr("1 earlier."));
}

TEST(ViewScreen, TeardownIsNotPutFirst) {
    Screen screen;
    Snapshot snapshot = with_death();
    for (Death& death : snapshot.targets[0].deaths) death.news = false;
    screen.tick(snapshot);
    EXPECT_THAT(screen.text(), testing::StartsWith(" train"));
}

TEST(ViewScreen, DeathsFitOnAScreenOfAnySize) {
    Screen screen;
    for (int i = 0; i < 50; ++i) {
        Snapshot snapshot = with_death(1000 + i);
        snapshot.targets[0].info.name = "日本語\x1b[2J" + std::string(60, 'n');
        snapshot.targets[0].deaths[0].explanation = "\x1b[31m" + std::string(300, 'w');
        screen.tick(snapshot);
    }
    EXPECT_LE(screen.state.deaths.size(), 20U);
    for (std::size_t width = 1; width <= 120; width += 7)
        for (std::size_t height = 1; height <= 40; ++height) {
            screen.look = {width, height, true};
            screen.draw();
            expect_inside(screen.scene, screen.look);
            if (height < 2 || width < 20) continue;
            EXPECT_THAT(screen.text(), testing::StartsWith(" DEATH")) << height;
        }
}

TEST(ViewScreen, TheCauseOfALeakAndWhatHelpsAreShownInFull) {
    Screen screen;
    ScopeVerdict verdict;
    verdict.judgement.verdict = Verdict::leaking;
    verdict.explanation =
        "The floor has risen steadily by 450 MiB/min since 5 s (353 MiB in 47 s) and is now 520 MiB; at this rate the "
        "limit of 768 MiB is reached in 33 s: 340 MiB of it are copies that 3 dataloader workers made of the trainer's "
        "pages (copy-on-write un-sharing); keep the dataset in arrays, not in lists of objects.";
    screen.snapshot.targets[0].verdicts = {verdict};
    screen.look = {80, 24, true};
    screen.draw();
    EXPECT_THAT(screen.text(), HasSubstr("not in lists of\n objects.\n"));
    EXPECT_THAT(screen.text(), HasSubstr("trainer "));
    expect_inside(screen.scene, screen.look);
}

TEST(ViewScreen, UnSharingIsShownUntilConfirmedUnlessTheVerdictSaysIt) {
    Screen screen;
    screen.look = {120, 40, true};
    Snapshot next = example(1001);
    next.targets[0].sharing.explanation = "3 workers have copied 2.1 GiB";
    next.targets[0].verdicts.push_back({.explanation = "Too early."});
    screen.tick(next);
    EXPECT_THAT(screen.text(), HasSubstr("3 workers have copied 2.1 GiB."));
    screen.tick(example(1002));
    EXPECT_THAT(screen.text(), HasSubstr("3 workers have copied 2.1 GiB.")) << "it has ended, but was not confirmed";
    EXPECT_THAT(screen.text(), HasSubstr("x seen"));
    next.time = 1003;
    next.targets[0].verdicts[0].cause = GrowthCause{.kind = GrowthCause::Kind::unsharing};
    screen.tick(next);
    EXPECT_THAT(screen.text(), Not(HasSubstr("3 workers have copied"))) << "the verdict has said so";
    next.time = 1004;
    next.targets[0].verdicts.clear();
    screen.tick(next);
    EXPECT_EQ(screen.type("x"), Reaction::redraw);
    EXPECT_THAT(screen.text(), Not(HasSubstr("3 workers have copied")));
    screen.tick(example(1005));
    next.time = 1006;
    screen.tick(next);
    EXPECT_THAT(screen.text(), HasSubstr("3 workers have copied")) << "it has begun again";
}

// A leak that is explained with everything that memscope knows.
ScopeVerdict long_leak() {
    ScopeVerdict verdict;
    verdict.judgement.verdict = Verdict::leaking;
    verdict.judgement.floor_slope = 8.0 * (1 << 20);
    verdict.grower = Grower{.pid = 101, .comm = "python3", .role = {Role::trainer, {}}};
    verdict.lines = GrowingLines{.most = "Trainer.validate (train.py:13)", .share = 0.99, .keeps = true};
    verdict.holders = "`__main__.trainer.val_outputs` (list) has grown by 416 tuples and 104 MiB in 13 s.";
    verdict.explanation =
        "The floor has risen steadily by 480 MiB/min since 6 s (293 MiB in 38 s) and is now 465 MiB; at this rate the "
        "limit of 576 MiB is reached in 14 s: find the objects that the job keeps from one step to the next. Most of "
        "it is the trainer: it grew by 154 MiB in 19 s (pid 101, python3, 1 level below torchrun). " +
        verdict.holders +
        " It grows at the same lines again and again: Trainer.validate (train.py:13) keeps most of it (99 %).";
    return verdict;
}

TEST(ViewScreen, TheExplanationIsNeverCutInsideASentence) {
    TargetSnapshot target = test::training();
    for (const bool leaks : {true, false}) {
        target.verdicts = {long_leak()};
        if (!leaks) target.verdicts[0].judgement.verdict = Verdict::warming_up;
        for (std::size_t width = 60; width <= 200; width += 10)
            for (std::size_t rows = 1; rows <= 10; ++rows) {
                const auto lines = verdict_panel(target, width, rows);
                EXPECT_LE(lines.size(), rows);
                if (lines.empty()) {
                    EXPECT_FALSE(leaks) << width << ' ' << rows;
                    continue;
                }
                EXPECT_TRUE(lines.back().text().ends_with('.')) << lines.back().text();
            }
    }
}

TEST(ViewScreen, ASmallScreenHasTheShortFormOfALeak) {
    Screen screen;
    screen.snapshot.targets[0].verdicts = {long_leak()};
    screen.look = {80, 24, true};
    screen.draw();
    EXPECT_THAT(screen.text(), HasSubstr("Leaks 480 MiB/min in the trainer (pid 101). Trainer.validate (train.py:13)"));
    EXPECT_THAT(screen.text(), HasSubstr("It is in `__main__.trainer.val_outputs` (list)."));
    screen.look = {120, 40, true};
    screen.draw();
    EXPECT_THAT(screen.text(), HasSubstr("The floor has risen steadily"));
}

TEST(ViewScreen, TheCurveTakesTheRowsThatTheTableDoesNotNeed) {
    Screen screen;
    screen.look = {120, 40, true};
    EXPECT_THAT(screen.text(), Not(HasSubstr("┤"))) << "one tick is no curve";
    for (int i = 1; i <= 30; ++i) {
        Snapshot next = i == 20 ? with_death(1000 + i) : example(1000 + i);
        next.targets[0].memory.unreclaimable = gib(static_cast<std::uint64_t>(20 + i));
        screen.tick(next);
    }
    EXPECT_THAT(screen.text(), HasSubstr(" limit 64 GiB "));
    EXPECT_THAT(screen.text(), testing::ContainsRegex("30 s ago +now\n"));
    EXPECT_THAT(screen.text(), HasSubstr("╳"));
    EXPECT_THAT(screen.text(), HasSubstr("112")) << "all processes are still there";
    expect_inside(screen.scene, screen.look);
    screen.snapshot.targets[0].memory.effective->owner = "kubepods.slice";
    screen.draw();
    EXPECT_THAT(screen.text(), Not(HasSubstr(" limit 64 GiB "))) << "others hold memory below it, too";
    screen.look = {120, 20, true};
    screen.draw();
    EXPECT_THAT(screen.text(), Not(HasSubstr("┤")));
    for (std::size_t width = 1; width <= 200; width += 19)
        for (std::size_t height = 1; height <= 60; height += 3) {
            screen.look = {width, height, true};
            screen.draw();
            expect_inside(screen.scene, screen.look);
        }
}

TEST(ViewScreen, TheFooterAlwaysSaysHowToLeave) {
    Screen screen(hostile());
    add_note(screen.state, screen.snapshot.time, std::string(300, 'x'));
    for (const GrowthPanel panel : {GrowthPanel::off, GrowthPanel::resident, GrowthPanel::holders})
        for (std::size_t width = 8; width <= 200; width += 23)
            for (std::size_t height = 2; height <= 60; height += height < 20 ? 3 : 9) {
                screen.state.growth = panel;
                screen.look = {width, height, true};
                screen.draw();
                ASSERT_THAT(screen.scene.lines.back().text(), HasSubstr("q quit")) << width << 'x' << height;
            }
}

TEST(ViewScreen, ShowsTheKernelsHighWaterMark) {
    Screen screen;
    EXPECT_THAT(screen.text(), Not(HasSubstr("peak")));
    screen.snapshot.targets[0].memory.peak = gib(50);
    screen.draw();
    EXPECT_THAT(screen.text(), HasSubstr(" peak 50 GiB with page cache"));
}

TEST(ViewScreen, ASmallScreenKeepsTheBarAndTheTree) {
    Screen screen;
    screen.look = {40, 10, true};
    screen.draw();
    EXPECT_THAT(screen.text(), HasSubstr("64 % of 64 GiB"));
    EXPECT_THAT(screen.text(), HasSubstr("dataloader_worker"));
    EXPECT_THAT(screen.text(), HasSubstr("q quit"));
    EXPECT_GE(screen.scene.page, 4);
}

TEST(ViewScreen, ScrollingStaysInsideTheRows) {
    Snapshot snapshot = example();
    for (int i = 0; i < 300; ++i)
        snapshot.targets[0].processes.push_back(test::process(1000 + i, Role::helper, "h", "h", mib(1)));
    test::count_roles(snapshot.targets[0]);
    Screen screen(snapshot);
    set_folded(screen.state, {Role::helper, std::nullopt}, false);
    screen.draw();
    const std::size_t rows = screen.scene.tree.rows.size();
    ASSERT_EQ(rows, 309);
    screen.key(Code::up);
    EXPECT_EQ(screen.state.selected_index, 0);
    screen.key(Code::end);
    EXPECT_EQ(screen.state.selected_index, rows - 1);
    EXPECT_EQ(screen.state.scroll, rows - screen.scene.page);
    EXPECT_THAT(screen.text(), HasSubstr("of 309"));
    screen.key(Code::page_down);
    EXPECT_EQ(screen.state.selected_index, rows - 1);
    screen.key(Code::page_up);
    EXPECT_EQ(screen.state.selected_index, rows - screen.scene.page);
    screen.tick(example(1001));  // most of them are gone
    EXPECT_LT(screen.state.selected_index, screen.scene.tree.rows.size());
    EXPECT_EQ(screen.state.scroll, 0);
    screen.key(Code::home);
    EXPECT_EQ(screen.state.selected_index, 0);
    screen.type("jjk");
    EXPECT_EQ(screen.state.selected_index, 1);
}

TEST(ViewScreen, TabSelectsTheNextTarget) {
    Snapshot snapshot = example();
    snapshot.targets = {test::training("a"), test::training("b"), test::training("c")};
    Screen screen(snapshot);
    EXPECT_THAT(screen.text(), HasSubstr(" ▸ a"));
    screen.key(Code::tab);
    EXPECT_THAT(screen.text(), HasSubstr(" ▸ b"));
    screen.type("nn");
    EXPECT_EQ(screen.state.target, "a");
    screen.type("p");
    EXPECT_EQ(screen.state.target, "c");
}

TEST(ViewScreen, WhenTheSelectedTargetIsRemovedItsNeighbourIsSelected) {
    Snapshot snapshot = example();
    snapshot.targets = {test::training("a"), test::training("b"), test::training("c")};
    Screen screen(snapshot);
    screen.type("nn");
    screen.key(Code::end);
    Snapshot next = snapshot;
    next.time += 1;
    next.targets.pop_back();
    screen.tick(next);
    EXPECT_EQ(screen.state.target, "b");
    EXPECT_EQ(screen.state.selected_index, 0);
    next.time += 1;
    next.targets.erase(next.targets.begin());  // another one, before it
    screen.tick(next);
    EXPECT_EQ(screen.state.target, "b");
    next.time += 1;
    next.targets.clear();
    screen.tick(next);
    EXPECT_THAT(screen.text(), HasSubstr("no target yet"));
}

TEST(ViewScreen, ShowsThatATargetHasEnded) {
    Screen screen;
    screen.snapshot.targets[0].up = false;
    screen.draw();
    EXPECT_THAT(screen.text(), HasSubstr("train  ended"));
}

TEST(ViewScreen, ANoteIsShownForAWhile) {
    Screen screen;
    add_note(screen.state, 1000, "train: watching");
    add_note(screen.state, 1000, "train: the kernel killed 1 process");
    screen.draw();
    EXPECT_THAT(screen.text(), HasSubstr("+1 train: the kernel killed 1 process"));
    screen.look = {60, 8, true};  // notes have no row of their own: the note replaces the footer
    screen.draw();
    EXPECT_THAT(screen.text(), HasSubstr("killed 1 process"));
    screen.tick(example(1016));
    EXPECT_THAT(screen.text(), Not(HasSubstr("killed")));
    for (int i = 0; i < 1000; ++i) add_note(screen.state, 1016, "x");
    EXPECT_LE(screen.state.notes.size(), 20);
}

TEST(ViewScreen, HelpOpensScrollsAndAnyKeyClosesIt) {
    Screen screen;
    screen.type("?");
    EXPECT_THAT(screen.text(), HasSubstr("fold or unfold"));
    for (int i = 0; i < 50; ++i) screen.key(Code::down);
    EXPECT_THAT(screen.text(), HasSubstr("own memory"));
    screen.type("x");
    EXPECT_THAT(screen.text(), HasSubstr("trainer"));
    screen.type("?");
    EXPECT_EQ(screen.type("q"), Reaction::quit);
}

// Two GPUs: the job holds memory on one, the other is lost.
Snapshot with_gpus() {
    Snapshot snapshot = example();
    GpuDevice gpu{.id = "GPU-00", .index = 0, .name = "H200"};
    gpu.used = gib(70);
    gpu.total = gib(140);
    gpu.knows_holders = true;
    GpuDevice lost{.id = "GPU-11", .index = 1};
    lost.trouble = "the GPU is lost";
    snapshot.gpus = {gpu, lost};
    TargetSnapshot& target = snapshot.targets[0];
    const auto trainer =
        std::ranges::find(target.processes, Role::trainer, [](const Process& process) { return process.role; });
    TargetGpu& held = target.gpu.emplace();
    held.processes[trainer->task.id.pid].devices["GPU-00"].used = gib(60);
    held.roles[{{Role::trainer, trainer->rank}, "GPU-00"}].used = gib(60);
    return snapshot;
}

TEST(ViewScreen, GpusHaveALineEachAndRolesAColumn) {
    Screen screen(with_gpus());
    const std::string text = screen.text();
    EXPECT_THAT(text, HasSubstr(" GPU 0 "));
    EXPECT_THAT(text, HasSubstr("target 60 GiB, others 10 GiB"));
    EXPECT_THAT(text, HasSubstr(" GPU 1   the GPU is lost"));
    EXPECT_THAT(text, HasSubstr("  GPU "));
    EXPECT_THAT(text, HasSubstr("   60G"));
}

TEST(ViewScreen, WithoutGpusTheScreenDoesNotMentionThem) {
    Screen screen(example());
    EXPECT_THAT(screen.text(), Not(HasSubstr("GPU")));
}

TEST(ViewScreen, ManyGpusOnASmallScreenAreCounted) {
    Snapshot snapshot = with_gpus();
    for (unsigned i = 2; i < 16; ++i) snapshot.gpus.push_back({.id = "GPU-" + std::to_string(i), .index = i});
    Screen screen(std::move(snapshot));
    EXPECT_THAT(screen.text(), HasSubstr("more GPUs"));
}

}  // namespace screen_test
}  // namespace memscope::view
