// What a verdict names: the role, the process, the line, the container and the cause.
#include "analysis/targets/target_judge.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/heap/held_objects.h"
#include "analysis/roles/role_totals.h"
#include "analysis/targets/scope_sentence.h"
#include "judged_job.h"
#include "support/fake_objects.h"

namespace memscope {
namespace target_judge_test {

using namespace judged;
using testing::HasSubstr;
using testing::Not;

TEST(TargetJudge, NamesTheRoleAndTheProcessThatLeak) {
    Watched watched;
    watched.run(3600, [](double t) { return job(2 * kGiB + static_cast<std::uint64_t>(t) * kMiB / 2); });
    const ScopeVerdict* whole = watched.latest.verdict();
    ASSERT_NE(whole, nullptr);
    EXPECT_EQ(whole->judgement.verdict, Verdict::leaking);
    ASSERT_TRUE(whole->grower);
    EXPECT_EQ(whole->grower->pid, 12);
    EXPECT_EQ(whole->grower->levels, 2);
    EXPECT_EQ(whole->grower->top, "uv");
    EXPECT_THAT(whole->explanation, HasSubstr("pid 12, python3, 2 levels below uv"));
    ASSERT_NE(watched.of(Role::trainer), nullptr);
    EXPECT_EQ(watched.of(Role::trainer)->judgement.verdict, Verdict::leaking);
    EXPECT_EQ(watched.of(Role::launcher)->judgement.verdict, Verdict::stable);
    EXPECT_THAT(watched.of(Role::trainer)->explanation, testing::StartsWith("The trainer: The floor has risen"));
    EXPECT_FALSE(adds_to(watched.latest, *watched.of(Role::trainer))) << "the verdict of the target names it";
}

// The same job with the line where the trainer grows, in every reading of lines.
TargetSnapshot job_that_grows_at(const char* line, double seconds, bool keeps = true) {
    const auto grown = static_cast<std::uint64_t>(seconds) * kMiB / 2;
    TargetSnapshot target = job(2 * kGiB + grown);
    const auto bytes = static_cast<std::int64_t>(grown);
    target.lines = {{{Role::trainer, std::nullopt}, line, bytes, keeps ? bytes : 0}};
    return target;
}

TEST(TargetJudge, NamesTheLineBeforeThereIsAVerdict) {
    Watched watched;
    watched.run(60, [](double t) { return job_that_grows_at("validate (train.py:35)", t); });
    const ScopeVerdict* whole = watched.latest.verdict();
    EXPECT_EQ(whole->judgement.verdict, Verdict::insufficient);
    EXPECT_THAT(whole->explanation,
                HasSubstr("for a verdict yet: wait a few minutes. So far validate (train.py:35) keeps "));
    EXPECT_THAT(whole->explanation, testing::EndsWith(" MiB more than when watching began."));
    EXPECT_FALSE(whole->lines) << "too early for programs";
    watched.run(3600, [](double t) { return job_that_grows_at("validate (train.py:35)", 60 + t); });
    EXPECT_THAT(watched.latest.verdict()->explanation, Not(HasSubstr("So far")));
}

TEST(TargetJudge, BeforeTheVerdictNamesNoLineThatOnlyTouchedMemory) {
    Watched watched;
    watched.run(60, [](double t) { return job_that_grows_at("validate (train.py:35)", t, false); });
    EXPECT_THAT(watched.latest.verdict()->explanation, Not(HasSubstr("train.py")));
}

TEST(TargetJudge, NamesTheLineThatGrowsAgainAndAgain) {
    Watched watched;
    watched.run(3600, [](double t) { return job_that_grows_at("validate (train.py:35)", t); });
    const ScopeVerdict* whole = watched.latest.verdict();
    ASSERT_TRUE(whole->lines);
    EXPECT_EQ(whole->lines->most, "validate (train.py:35)");
    EXPECT_THAT(
        whole->explanation,
        HasSubstr("It grows at the same lines again and again: validate (train.py:35) keeps most of it (100 %)."));
    ASSERT_TRUE(watched.of(Role::trainer)->lines);
    EXPECT_FALSE(watched.of(Role::launcher)->lines);
}

TEST(TargetJudge, DoesNotNameTheLineThatTouchedMemoryFirst) {
    Watched watched;
    watched.run(3600, [](double t) { return job_that_grows_at("backward (train.py:50)", t, false); });
    const std::string& text = watched.latest.verdict()->explanation;
    EXPECT_THAT(text, HasSubstr("It grows at the same lines again and again: which line keeps it is not known"));
    EXPECT_THAT(text, testing::Not(HasSubstr("backward")));
}

// The same job with two censuses of the objects of a process, ten minutes apart.
TargetSnapshot job_with_holders(double seconds, pid_t pid) {
    TargetSnapshot target = job_that_grows_at("backward (train.py:50)", seconds, false);
    const double wall = kWall.count() + 1000 + seconds;
    ProcessHeap heap{.role = {Role::trainer, {}}};
    const HeapCensus before = test::with_objects(wall - 660, Bytes{2 * kGiB}, test::outputs_of(10, kMiB));
    heap.census = test::with_objects(wall - 60, Bytes{2 * kGiB + 300 * kMiB}, test::outputs_of(286, kMiB));
    heap.census.process = {pid, static_cast<std::uint64_t>(pid)};
    heap.held = held_objects(heap.census, &before);
    target.heap = {heap};
    return target;
}

// An array that is replaced by a larger one makes spikes.
TEST(TargetJudge, NamesTheContainerThatHasGrownUnderASpikyVerdict) {
    constexpr double kPeriod = 120, kLong = 20;  // seconds
    for (const bool has_grown : {true, false}) {
        Watched watched;
        watched.run(3600, [&](double t) {
            TargetSnapshot target = job_with_holders(t, 12);
            TargetSnapshot flat = job(2 * kGiB + (std::fmod(t, kPeriod) < kLong ? kGiB : 0));
            if (has_grown) flat.heap = target.heap;
            return flat;
        });
        const ScopeVerdict& whole = *watched.latest.verdict();
        ASSERT_EQ(whole.judgement.verdict, Verdict::spiky);
        EXPECT_EQ(whole.holders.starts_with("`__main__.trainer.val_outputs` (list) has grown by"), has_grown);
        EXPECT_EQ(whole.explanation.find("val_outputs") != std::string::npos, has_grown);
    }
}

TEST(TargetJudge, NamesTheContainerThatHasGrown) {
    Watched watched;
    watched.run(3600, [](double t) { return job_with_holders(t, 12); });
    const ScopeVerdict& whole = *watched.latest.verdict();
    EXPECT_EQ(
        whole.holders,
        "`__main__.trainer.val_outputs` (list) has grown by 276 tuples and 276 MiB in 10 min; 92 % of the growth.");
    EXPECT_THAT(whole.explanation, HasSubstr(whole.holders));
    EXPECT_THAT(whole.explanation, Not(HasSubstr("is not known"))) << "the container answers";
    EXPECT_THAT(watched.of(Role::trainer)->explanation, HasSubstr("val_outputs"));
    EXPECT_EQ(watched.of(Role::launcher)->holders, "");
}

TEST(TargetJudge, ContainersOfAnotherProcessExplainNothing) {
    Watched watched;
    watched.run(3600, [](double t) { return job_with_holders(t, 99); });
    EXPECT_EQ(watched.latest.verdict()->holders, "");
}

// The time at which a leak that begins after half an hour gets the verdict leaking.
double called_after(std::string (*line_at)(double seconds)) {
    Watched watched;
    double called = 0;
    std::map<std::string, std::int64_t> lines;
    watched.run(7200, [&](double t) {
        if (called == 0 && watched.latest.verdict() && watched.latest.verdict()->judgement.verdict == Verdict::leaking)
            called = t;
        TargetSnapshot target = job(2 * kGiB + static_cast<std::uint64_t>(t < 1800 ? 0 : t - 1800) * kMiB / 16);
        if (t >= 1800) lines[line_at(t)] += 5 * kMiB / 16;
        if (watched.judge.wants_lines(Seconds(watched.now))) {
            target.lines.emplace();
            for (const auto& [line, bytes] : lines)
                target.lines->push_back({{Role::trainer, std::nullopt}, line, bytes});
        }
        return target;
    });
    return called;
}

TEST(TargetJudge, AccusesSoonerIfTheSameLineGrowsEachTime) {
    const double same = called_after([](double) { return std::string("validate"); });
    const double other = called_after([](double t) { return "part " + std::to_string(static_cast<int>(t) / 60); });
    ASSERT_GT(same, 0);
    ASSERT_GT(other, 0) << "it gets the verdict in the end";
    EXPECT_LT(same, other);
}

TEST(TargetJudge, ABigFlatRoleIsConstantOverhead) {
    Watched watched;
    watched.run(3600, [](double) { return job(2 * kGiB, 20); });
    ASSERT_NE(watched.of(Role::compile_worker), nullptr);
    EXPECT_EQ(watched.of(Role::compile_worker)->explanation,
              "20 compile workers hold 7.8 GiB, flat: constant overhead, no leak.");
}

TEST(TargetJudge, ARoleWithoutProcessesHasNoVerdictUntilItReturns) {
    Watched watched;
    watched.run(600, [](double) { return job(2 * kGiB, 4); });
    EXPECT_NE(watched.of(Role::compile_worker), nullptr);
    watched.run(60, [](double) { return job(2 * kGiB); });
    EXPECT_EQ(watched.of(Role::compile_worker), nullptr);
    watched.run(5, [](double) { return job(2 * kGiB, 4); });
    ASSERT_NE(watched.of(Role::compile_worker), nullptr);
    EXPECT_GT(watched.of(Role::compile_worker)->judgement.samples, 100U);  // unchanged
}

// A trainer and eight workers that share all memory that the trainer had at the fork, and hold `added` of their own.
TargetSnapshot job_with_workers(std::uint64_t trainer, std::uint64_t added, std::uint64_t unshared = 0) {
    TargetSnapshot target;
    target.processes = {process(12, 1, Role::trainer, "python3", trainer)};
    for (pid_t pid = 20; pid < 28; ++pid) {
        Process worker = process(pid, 12, Role::dataloader_worker, "pt_data_worker", trainer + added);
        worker.inherited = Bytes{trainer - unshared};
        target.processes.push_back(worker);
    }
    target.roles = sum_by_role(target.processes);
    const RoleKey workers{Role::dataloader_worker, std::nullopt};
    target.memory.by_kind.anon = {trainer + 8 * (added + unshared)};
    target.memory.unreclaimable = target.memory.by_kind.anon;
    target.memory.candidates = {{"own", {64 * kGiB}, target.memory.unreclaimable}};
    target.sharing.unshared[workers] = {.bytes = {8 * unshared}, .confirmed = true, .processes = 8};
    target.sharing.copiers =
        Copiers{.role = Role::dataloader_worker, .parent = Role::trainer, .processes = 8, .confirmed = true};
    return target;
}

TEST(TargetJudge, WorkersAreNotAccusedOfWhatTheirTrainerLeaks) {
    Watched watched;
    watched.run(3600, [](double t) {  // forked again every five minutes, with all memory of the trainer at that time
        const auto trainer = 2 * kGiB + static_cast<std::uint64_t>(t) * kMiB;
        const auto at_fork = 2 * kGiB + static_cast<std::uint64_t>(t) / 300 * 300 * kMiB;
        TargetSnapshot target = job_with_workers(at_fork, 50 * kMiB);
        target.processes[0].task.memory->anon = {trainer};
        target.roles = sum_by_role(target.processes);
        target.memory.unreclaimable = {trainer + 400 * kMiB};
        return target;
    });
    EXPECT_EQ(watched.latest.verdict()->judgement.verdict, Verdict::leaking);
    EXPECT_EQ(watched.latest.verdict()->grower->role.role, Role::trainer);
    EXPECT_EQ(watched.of(Role::trainer)->judgement.verdict, Verdict::leaking);
    EXPECT_EQ(watched.of(Role::dataloader_worker)->judgement.verdict, Verdict::stable);
    EXPECT_EQ(watched.of(Role::dataloader_worker)->judgement.floor.n, 400 * kMiB);
}

TEST(TargetJudge, ARoleIsNotJudgedWhileItsOwnMemoryIsGuessed) {
    Watched watched;
    watched.run(60, [](double t) {
        TargetSnapshot target = job_with_workers(2 * kGiB, 50 * kMiB);
        target.processes[3].own_known = t >= 30;
        target.roles = sum_by_role(target.processes);
        target.memory.measured_at = "user.slice";
        return target;
    });
    EXPECT_GT(watched.of(Role::trainer)->judgement.samples, 6U);
    EXPECT_LE(watched.of(Role::dataloader_worker)->judgement.samples, 6U);
    EXPECT_GT(watched.of(Role::dataloader_worker)->judgement.samples, 0U);
    EXPECT_LE(watched.latest.verdict()->judgement.samples, 6U) << "with --pid the whole target is not judged either";
}

TEST(TargetJudge, NamesUnSharingAsTheOnlyCauseOfALeak) {
    Watched watched;
    watched.run(3600, [](double t) {
        return job_with_workers(2 * kGiB, 50 * kMiB, static_cast<std::uint64_t>(t) * kMiB / 10);
    });
    const ScopeVerdict& whole = *watched.latest.verdict();
    EXPECT_EQ(whole.judgement.verdict, Verdict::leaking);
    ASSERT_TRUE(whole.cause);
    EXPECT_EQ(whole.cause->kind, GrowthCause::Kind::unsharing);
    EXPECT_GT(whole.cause->share, 0.9);
    EXPECT_THAT(
        whole.explanation,
        HasSubstr("are copies that 8 dataloader workers made of the trainer's pages (copy-on-write un-sharing); "
                  "keep the dataset in arrays, not in lists of objects."));
    EXPECT_THAT(whole.explanation, Not(HasSubstr("find the objects that the job keeps")));
    EXPECT_TRUE(says_unsharing(watched.latest));
    const ScopeVerdict* workers = watched.of(Role::dataloader_worker);
    EXPECT_EQ(workers->judgement.verdict, Verdict::leaking) << "their copies are their own memory";
    EXPECT_THAT(workers->explanation, HasSubstr("un-sharing"));
    EXPECT_FALSE(adds_to(watched.latest, *workers)) << "it would repeat the verdict of the target";
}

TEST(TargetJudge, NamesUnSharingAsTheCauseOfAWarmUp) {
    Watched watched;
    watched.run(
        900, [](double t) { return job_with_workers(2 * kGiB, 50 * kMiB, static_cast<std::uint64_t>(t) * kMiB / 10); });
    const ScopeVerdict& whole = *watched.latest.verdict();
    EXPECT_EQ(whole.judgement.verdict, Verdict::warming_up);
    EXPECT_THAT(whole.explanation, HasSubstr("is not called a leak yet. "));
    EXPECT_THAT(whole.explanation,
                HasSubstr(" of it are copies that 8 dataloader workers made of the trainer's pages"));
    EXPECT_THAT(whole.explanation, Not(HasSubstr("it grew by"))) << "no worker is named as the cause";
}

TEST(TargetJudge, SharedMemoryPageTablesAndKernelMemoryAreNamedAsTheCause) {
    struct Case {
        GrowthCause::Kind kind;
        const char* words;
    };
    for (const auto& [kind, words] : {Case{GrowthCause::Kind::shared_memory, "of it are shared memory"},
                                      Case{GrowthCause::Kind::page_tables, "of it are page tables"},
                                      Case{GrowthCause::Kind::kernel, "of it are kernel memory"}}) {
        Watched watched;
        watched.run(3600, [kind](double t) {
            TargetSnapshot target = job(2 * kGiB);
            const Bytes grown{static_cast<std::uint64_t>(t) * kMiB / 2};
            target.memory.by_kind.anon = target.memory.unreclaimable;
            target.memory.unreclaimable += grown;
            if (kind == GrowthCause::Kind::shared_memory) target.memory.by_kind.shmem = grown;
            if (kind != GrowthCause::Kind::shared_memory) target.memory.by_kind.kernel = grown;
            if (kind == GrowthCause::Kind::page_tables) target.memory.page_tables = grown;
            return target;
        });
        const ScopeVerdict& whole = *watched.latest.verdict();
        EXPECT_EQ(whole.judgement.verdict, Verdict::leaking);
        ASSERT_TRUE(whole.cause) << words;
        EXPECT_EQ(whole.cause->kind, kind);
        EXPECT_THAT(whole.explanation, HasSubstr(words));
        EXPECT_THAT(whole.explanation, Not(HasSubstr("find the objects that the job keeps")));
    }
}

TEST(TargetJudge, DoesNotNameAProcessWhoseGrowthIsARoundingError) {
    Watched watched;
    watched.run(3600, [](double t) {  // 30 processes that grow at the same rate, and one that grows a little faster
        TargetSnapshot target = job(2 * kGiB, 30);
        for (Process& each : target.processes)
            if (each.role == Role::compile_worker)
                each.task.memory->anon += Bytes{static_cast<std::uint64_t>(t) * kMiB / 60};
        target.roles = sum_by_role(target.processes);
        target.memory.unreclaimable = {};
        for (const auto& [key, totals] : target.roles) target.memory.unreclaimable += totals.anon;
        return target;
    });
    EXPECT_EQ(watched.latest.verdict()->judgement.verdict, Verdict::leaking);
    EXPECT_FALSE(watched.latest.verdict()->grower);
    const ScopeVerdict* workers = watched.of(Role::compile_worker);
    EXPECT_FALSE(workers->grower);
    EXPECT_TRUE(adds_to(watched.latest, *workers)) << "the growth of the role is reported";
}

TEST(TargetJudge, AWorkerDoesNotGrowBecauseItsTrainerRewritesPages) {
    Watched watched;
    watched.run(3600, [](double t) {
        const auto rewritten = static_cast<std::uint64_t>(t) * kMiB / 4;
        TargetSnapshot target = job_with_workers(2 * kGiB, 50 * kMiB);
        target.processes.resize(2);  // the trainer and one worker
        target.processes[1].inherited = Bytes{2 * kGiB - rewritten};
        target.processes[1].orphaned = Bytes{rewritten};
        target.roles = sum_by_role(target.processes);
        target.memory.unreclaimable = {2 * kGiB + 50 * kMiB + rewritten};
        return target;
    });
    EXPECT_EQ(watched.latest.verdict()->judgement.verdict, Verdict::leaking);
    EXPECT_FALSE(watched.latest.verdict()->grower);
}

TEST(TargetJudge, LeavesRoomForThePeakThatTheKernelReports) {
    Watched watched;
    watched.run(7200,
                [](double t) {  // half a minute at 3 GiB every ten minutes; the kernel saw 3.5 GiB between two ticks
                    TargetSnapshot target = job(static_cast<int>(t) % 600 < 30 ? 3 * kGiB : 2 * kGiB);
                    target.memory.peak = Bytes{(t < 1000 ? 3 * kGiB : 7 * kGiB / 2)};
                    return target;
                });
    EXPECT_EQ(watched.latest.verdict()->judgement.verdict, Verdict::spiky);
    EXPECT_THAT(watched.latest.verdict()->explanation, HasSubstr("leave room for 3.5 GiB"));
}

TEST(JudgedMemory, CountsEachPageOfATreeOnce) {
    TargetSnapshot target = job_with_workers(400 * kMiB, 5 * kMiB, 10 * kMiB);
    target.memory.measured_at = "user.slice";
    EXPECT_EQ(judged_memory(target).n, (400 + 8 * 15) * kMiB);
}

TEST(JudgedMemory, IsTheAnonymousMemoryOfTheProcessesIfTheTargetIsNoCgroup) {
    TargetSnapshot target = job(2 * kGiB);
    target.memory.unreclaimable = {9 * kGiB};
    target.memory.swap = {kGiB};
    EXPECT_EQ(judged_memory(target).n, 10 * kGiB);
    target.memory.measured_at = "user.slice";
    EXPECT_EQ(judged_memory(target).n, 2 * kGiB + 24 * kMiB);
}

}  // namespace target_judge_test
}  // namespace memscope
