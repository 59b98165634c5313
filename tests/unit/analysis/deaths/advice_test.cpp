#include "analysis/deaths/advice.h"

#include <csignal>
#include <gmock/gmock.h>

#include "analysis/deaths/decide_death.h"
#include "analysis/heap/held_objects.h"
#include "support/dead_job.h"
#include "support/fake_objects.h"

namespace memscope {
namespace advice_test {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

DeathReport job_called(Verdict verdict) {
    DeathReport report = test::dead_job();
    report.then.targets[0].verdicts[0].judgement.verdict = verdict;
    return report;
}

DeathReport died_of(const Death& death) {
    DeathReport report = test::dead_job();
    report.deaths = {death};
    return report;
}

Death killed_by(const char* comm, const char* sent_for = "") {
    Death death;
    death.cause = DeathCause::sigkill;
    death.signal = SIGKILL;
    death.sender = DeathSender::outside;
    death.sent_by = NamedProcess{42, comm};
    death.sent_for = sent_for;
    return death;
}

TEST(Advice, ALeakBelowItsOwnLimitNamesTheLineAndSaysThatMoreRoomDoesNotHelp) {
    EXPECT_THAT(advice_for(test::dead_job(), "/job/history.py:41 History.append"),
                ElementsAre(AllOf(HasSubstr("leaking"), HasSubstr("/job/history.py:41 History.append")),
                            AllOf(HasSubstr("only delays"), HasSubstr("60 MiB a minute"))));
}

TEST(Advice, NamesALineOnlyIfTheVerdictIsALeak) {
    for (const Verdict verdict : kVerdicts) {
        if (verdict == Verdict::leaking) continue;
        EXPECT_THAT(advice_for(job_called(verdict), "/job/history.py:41 f"), Each(Not(HasSubstr("history.py"))))
            << word(verdict);
        EXPECT_THAT(advice_for(job_called(verdict), "/job/history.py:41 f"), Not(testing::IsEmpty())) << word(verdict);
    }
}

TEST(Advice, DoesNotRecommendAHigherLimitForGrowthAtAConstantRate) {
    DeathReport report = job_called(Verdict::warming_up);
    Judgement& judgement = report.then.targets[0].verdicts[0].judgement;
    judgement.steady = true;
    judgement.until = judgement.since + std::chrono::minutes(4);
    EXPECT_THAT(advice_for(report, "/job/history.py:41 f"),
                ElementsAre(AllOf(HasSubstr("grew at a constant rate of"), HasSubstr("/job/history.py:41 f"),
                                  HasSubstr("find the objects that are kept there")),
                            AllOf(HasSubstr("helps only if the growth was a warm-up that would have ended"),
                                  HasSubstr("4 min"))));
}

TEST(Advice, WithoutGrowthItSaysHowToGetACallSite) {
    DeathReport report = test::dead_job();
    report.growth.reset();
    EXPECT_THAT(advice_for(report, ""), Contains(HasSubstr("no call site is known")));
}

TEST(Advice, WithoutAnOwnerNoLineIsNamed) {
    EXPECT_THAT(advice_for(test::dead_job(), ""), Contains(HasSubstr("which line keeps the memory is not known")));
}

TEST(Advice, WithoutALeakRecommendsAHigherLimitOrASmallerJob) {
    EXPECT_THAT(advice_for(job_called(Verdict::stable), ""),
                ElementsAre(AllOf(HasSubstr("flat"), HasSubstr("memory.limit_in_bytes of train"),
                                  HasSubstr("fewer DataLoader workers"))));
    EXPECT_THAT(advice_for(job_called(Verdict::spiky), ""), ElementsAre(HasSubstr("plus one spike")));
    EXPECT_THAT(advice_for(job_called(Verdict::warming_up), ""),
                ElementsAre(HasSubstr("cannot say whether it would have stopped growing")));
    EXPECT_THAT(advice_for(job_called(Verdict::insufficient), ""), ElementsAre(HasSubstr("too briefly")));
}

TEST(Advice, ARunWithoutADeathGetsAdviceOnlyIfItLeaksOrComesCloseToItsLimit) {
    const auto advice = [](Verdict verdict, bool was_close) {
        return advice_for_run(job_called(verdict).target(), test::kDied, "/job/history.py:41 f", true, was_close);
    };
    EXPECT_THAT(advice(Verdict::leaking, false), ElementsAre(AllOf(HasSubstr("It leaks"), HasSubstr("history.py:41")),
                                                             AllOf(HasSubstr("only delays"), HasSubstr("it grows by"))))
        << "it may still run, so the text is about the present";
    EXPECT_THAT(advice(Verdict::stable, false), SizeIs(0));
    EXPECT_THAT(advice(Verdict::warming_up, false), SizeIs(0));
    EXPECT_THAT(advice(Verdict::stable, true), ElementsAre(HasSubstr("raise the limit")));
    EXPECT_THAT(advice(Verdict::stable, true), Each(Not(HasSubstr("history.py"))));
}

TEST(Advice, AFullAncestorRefersToItsOtherProcesses) {
    DeathReport report = job_called(Verdict::stable);
    report.deaths[0].oom->limit_owner = "kubepods.slice";
    report.deaths[0].oom->limit = test::in_mib(4096);
    report.deaths[0].oom->usage = test::in_mib(4096);
    EXPECT_THAT(advice_for(report, ""), ElementsAre(AllOf(HasSubstr("kubepods.slice"), HasSubstr("held 500 MiB of"),
                                                          HasSubstr("which processes hold the rest"))));
}

TEST(Advice, AFullHostIsNotBlamedOnTheLimitOfTheJob) {
    DeathReport report = job_called(Verdict::stable);
    report.deaths[0].oom = OomKill{.constraint = OomConstraint::host, .limit_owner = "host"};
    const auto advice = advice_for(report, "");
    EXPECT_THAT(advice, ElementsAre(AllOf(HasSubstr("machine itself"), HasSubstr("16 GiB"), HasSubstr("500 MiB"))));
}

TEST(Advice, NodesThatRanOutAreNamed) {
    DeathReport report = test::dead_job();
    report.deaths[0].oom->constraint = OomConstraint::cpuset;
    EXPECT_THAT(advice_for(report, ""), ElementsAre(HasSubstr("cpuset.mems")));
}

TEST(Advice, UnsharingAndSharedMemoryAreNamedWhereTheyWereSeen) {
    DeathReport report = job_called(Verdict::stable);
    report.then.targets[0].sharing.explanation = "3 workers copied";
    report.then.targets[0].memory.by_kind.shmem = test::in_mib(600);
    EXPECT_THAT(advice_for(report, ""),
                AllOf(Contains(HasSubstr("reference count")), Contains(HasSubstr("Most of it was shared memory"))));
}

TEST(Advice, ALeakThatIsFreeMemoryIsNotBlamedOnTheLineThatTouchedItFirst) {
    DeathReport report = test::dead_job();
    TargetSnapshot& target = report.then.targets[0];
    HeapCensus census{.anon = test::in_mib(500)};
    census.part(HeapPart::malloc_free) = test::in_mib(400);
    census.allocator = {.name = AllocatorName::glibc, .arenas = 64, .trimmable = test::in_mib(380)};
    target.heap = {{.role = {Role::trainer}, .census = census}};
    target.verdicts[0].cause = GrowthCause{.kind = GrowthCause::Kind::malloc_free, .share = 0.9};
    EXPECT_THAT(advice_for(report, "/job/history.py:41 f"),
                ElementsAre(AllOf(HasSubstr("400 MiB of 500 MiB are free inside malloc"),
                                  HasSubstr("MALLOC_ARENA_MAX=2"), Not(HasSubstr("history.py"))),
                            HasSubstr("only delays")));
}

TEST(Advice, ALeakNamesTheContainerThatGrew) {
    DeathReport report = test::dead_job();
    ProcessHeap heap{.role = {Role::trainer, {}}};
    const HeapCensus before =
        test::with_objects(report.then.time - 600, test::in_mib(100), test::outputs_of(10, 1 << 20));
    heap.census = test::with_objects(report.then.time - 60, test::in_mib(400), test::outputs_of(300, 1 << 20));
    heap.census.process = report.then.targets[0].processes[1].task.id;
    heap.held = held_objects(heap.census, &before);
    report.then.targets[0].heap = {heap};
    EXPECT_THAT(advice_for(report, ""),
                Contains(AllOf(HasSubstr("It was leaking. `__main__.trainer.val_outputs` (list)"),
                               HasSubstr("Look at what adds to it"))));
    EXPECT_THAT(advice_for(report, "train.py:7 run"), Contains(HasSubstr("train.py:7 run keeps most of it.")));
}

TEST(Advice, EachKillerHasItsOwnAdvice) {
    const auto first = [](const Death& death) { return advice_for(died_of(death), "").at(0); };
    EXPECT_THAT(first(killed_by("systemd-oomd", "systemd-oomd")), HasSubstr("oomctl"));
    EXPECT_THAT(first(killed_by("earlyoom", "earlyoom")), HasSubstr("earlyoom kills"));
    EXPECT_THAT(first(killed_by("runc", "the kubelet")), HasSubstr("kubectl describe pod"));
    EXPECT_THAT(first(killed_by("containerd-shim", "the container runtime")), HasSubstr("runtime"));
    EXPECT_THAT(first(killed_by("slurmstepd", "Slurm")), HasSubstr("sacct"));
    EXPECT_THAT(first(killed_by("systemd", "systemd")), HasSubstr("systemctl status"));
    EXPECT_THAT(first(killed_by("bash")),
                AllOf(HasSubstr("bash (pid 42)"), HasSubstr("no sign that memory was the reason")));
}

// Every known process manager has advice of its own.
TEST(Advice, EachKnownProcessManagerHasItsOwnAdvice) {
    for (const char* comm : {"runc", "conmon", "dockerd", "kubelet", "slurmstepd", "pbs_mom", "sge_shepherd",
                             "condor_starter", "systemd", "systemd-oomd", "earlyoom", "nohang", "oomd", "bustd"})
        for (const char* target : {"job", "kubepods.slice/pod", "docker/1", "libpod-1"}) {
            const std::string manager = process_manager_of(comm, target);
            ASSERT_FALSE(manager.empty()) << comm;
            EXPECT_THAT(advice_for(died_of(killed_by(comm, manager.c_str())), ""),
                        Each(Not(HasSubstr("ask the owner of that process"))))
                << comm << " in " << target;
        }
}

TEST(Advice, TheSenderIsShownWithoutItsEscapes) {
    EXPECT_THAT(advice_for(died_of(killed_by("\x1b[2J")), "").at(0), Not(HasSubstr("\x1b")));
}

TEST(Advice, AFullShmIsEnlarged) {
    Death bus;
    bus.cause = DeathCause::sigbus;
    bus.mapping = FullFile{"torch_1_2", "tmpfs", "/dev/shm"};
    EXPECT_THAT(advice_for(died_of(bus), ""), ElementsAre(HasSubstr("--shm-size")));
    bus.mapping->mount = "/scratch";
    EXPECT_THAT(advice_for(died_of(bus), ""), ElementsAre(HasSubstr("/scratch")));
    bus.mapping->file_system = "hugetlbfs";
    EXPECT_THAT(advice_for(died_of(bus), ""), ElementsAre(HasSubstr("nr_hugepages")));
    Death failed;
    failed.cause = DeathCause::alloc_failed;
    failed.allocation = FailedAllocation{.call = "fallocate", .reason = "enospc"};
    EXPECT_THAT(advice_for(died_of(failed), ""), ElementsAre(HasSubstr("--shm-size")));
}

TEST(Advice, ARefusedRequestNamesTheLimitsThatRefuse) {
    Death failed;
    failed.cause = DeathCause::alloc_failed;
    failed.allocation = FailedAllocation{.call = "mmap", .reason = "enomem", .size = test::in_mib(1 << 20)};
    EXPECT_THAT(advice_for(died_of(failed), ""), ElementsAre(HasSubstr("RLIMIT_AS"), HasSubstr("1.0 TiB")));
}

TEST(Advice, ACrashIsNotBlamedOnMemory) {
    Death crash;
    crash.cause = DeathCause::signal;
    crash.signal = SIGSEGV;
    EXPECT_THAT(advice_for(died_of(crash), "a.py:1 f"), ElementsAre(HasSubstr("not a lack of memory")));
}

TEST(Advice, EveryCauseHasAdvice) {
    for (const DeathCause cause : kDeathCauses) {
        Death death;
        death.cause = cause;
        EXPECT_THAT(advice_for(died_of(death), ""), AllOf(Not(SizeIs(0)), SizeIs(testing::Le(4)))) << name_of(cause);
    }
}

Death without_gpu_memory(std::uint64_t gib, std::uint64_t others_gib = 0) {
    constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
    Death death;
    death.cause = DeathCause::cuda_oom;
    death.id = {100, 1};
    death.exit_status = 1;
    death.gpu = GpuShortage{.size = Bytes{gib * kGiB}, .free = Bytes{kGiB}, .total = Bytes{140 * kGiB}};
    death.gpu->holders = {{{100, "python"}, Bytes{60 * kGiB}}, {{7, "vllm"}, Bytes{others_gib * kGiB}}};
    return death;
}

TEST(Advice, AFullGpuNeedsASmallerBatch) {
    EXPECT_THAT(advice_for(died_of(without_gpu_memory(2)), ""),
                ElementsAre(AllOf(HasSubstr("a smaller batch"), HasSubstr("expandable_segments"))));
}

TEST(Advice, NoSettingHelpsAJobThatAsksForMoreThanTheWholeGpu) {
    EXPECT_THAT(advice_for(died_of(without_gpu_memory(167)), ""),
                ElementsAre(AllOf(HasSubstr("asked for 167 GiB at once, and the whole GPU has 140 GiB"),
                                  Not(HasSubstr("smaller batch")), Not(HasSubstr("expandable_segments")))));
}

TEST(Advice, OtherProcessesOnTheGpuAreNamedWhereItWouldHaveFittedWithoutThem) {
    EXPECT_THAT(advice_for(died_of(without_gpu_memory(20, 70)), ""),
                ElementsAre(HasSubstr("Other processes held 70 GiB"), HasSubstr("a smaller batch")));
}

TEST(Advice, PinnedMemoryIsHostMemory) {
    Death death = without_gpu_memory(2);
    death.gpu->of_host = true;
    EXPECT_THAT(advice_for(died_of(death), ""),
                ElementsAre(AllOf(HasSubstr("host memory"), Not(HasSubstr("expandable_segments")))));
}

}  // namespace advice_test
}  // namespace memscope
