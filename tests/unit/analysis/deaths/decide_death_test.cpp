#include "analysis/deaths/decide_death.h"

#include <gtest/gtest.h>

#include "deaths.h"
#include <memscope/shared/deaths.h>

namespace memscope {
namespace decide_death_test {

using namespace test;

std::string cause_of(const DeathEvidence& evidence, const DeathScene& scene = {}) {
    const auto death = decide_death(evidence, scene);
    return death ? std::string(name_of(death->cause)) : "none";
}

std::string sender_of(const DeathEvidence& evidence, const DeathScene& scene = {}) {
    const auto death = decide_death(evidence, scene);
    return death ? std::string(name_of(death->sender)) : "no death";
}

TEST(DeathByOomKiller, KeepsVictimAndTriggerApart) {
    const auto death = decide_death(oom_killed(), {.memory = AddressSpace{.anon = Bytes{300 << 20}}});
    ASSERT_TRUE(death && death->oom);
    EXPECT_EQ(name_of(death->cause), "oom_kill");
    EXPECT_EQ(name_of(death->sender), "kernel");
    EXPECT_EQ(death->id.pid, 100);
    EXPECT_EQ(death->oom->trigger->pid, 200);
    EXPECT_FALSE(death->sent_by) << "the process that asked for memory is not the sender";
    EXPECT_EQ(death->oom->limit, Bytes{512 << 20});
    EXPECT_EQ(death->oom->usage, Bytes{511 << 20});
    EXPECT_EQ(death->rss_anon, Bytes{400 << 20})
        << "the size when it was chosen as the victim, not at its last reading";
    EXPECT_EQ(name_of(death->oom->constraint), "cgroup");
    EXPECT_TRUE(death->news);
}

TEST(DeathByOomKiller, IgnoresProcessesThatWereAlreadyExiting) {
    DeathEvidence marked = oom_killed();
    marked.kill = sent(SIGKILL, 300, "bash");
    EXPECT_EQ(cause_of(marked), "sigkill") << "another process had killed it before";
    marked.exit_code = 0;
    EXPECT_EQ(cause_of(marked), "none") << "it just exited";
    marked.exit_code = SIGKILL;
    marked.kill = sent(SIGKILL, 1, "init", true);
    marked.kill->at_exit = true;
    EXPECT_EQ(cause_of(marked), "sigkill") << "its PID namespace was ending";
}

TEST(DeathByOomKiller, IncludesProcessesThatShareTheVictimsMemory) {
    DeathEvidence shares = oom_killed();
    shares.kill->with_victim = true;
    shares.oom->time_ns = 0;
    const auto death = decide_death(shares, {});
    ASSERT_TRUE(death && death->oom);
    EXPECT_FALSE(death->oom->marked);
    DeathTally tally;
    tally.add(*death);
    EXPECT_EQ(tally.of(DeathCause::oom_kill), 1U);
    EXPECT_EQ(tally.of(OomConstraint::cgroup), 0U) << "the kernel counts one kill";
}

TEST(DeathByOomKiller, IsInferredFromTheKernelLogOrAFullCgroup) {
    const LoggedOomKill line{.thread = 100, .constraint = OomConstraint::host};
    DeathEvidence late = oom_killed();
    late.oom->time_ns = 0;
    late.oom->chosen = false;
    const auto death = decide_death(late, {});
    ASSERT_TRUE(death && death->oom);
    EXPECT_EQ(name_of(death->cause), "oom_kill");
    EXPECT_EQ(death->oom->limit, Bytes{512 << 20});
    EXPECT_EQ(death->oom->trigger->pid, 200);
    late.oom->owner = {};
    EXPECT_EQ(cause_of(late), "sigkill") << "sent by the kernel for an unknown reason";
    EXPECT_EQ(cause_of(late, {.logged = &line}), "oom_kill");
    EXPECT_EQ(decide_death(late, {.logged = &line})->oom->trigger->pid, 200);
    late.kill->at_exit = true;
    EXPECT_EQ(cause_of(late, {.logged = &line}), "sigkill") << "its PID namespace was ending";
    late.kill.reset();
    EXPECT_EQ(cause_of(late), "sigkill");
}

TEST(DeathByOomKiller, PrefersTheConstraintOfTheKernelLog) {
    const LoggedOomKill host{.thread = 100, .constraint = OomConstraint::host};
    const auto death = decide_death(oom_killed(), {.logged = &host});
    EXPECT_EQ(name_of(death->oom->constraint), "host") << "the cgroup was full of page cache";
    EXPECT_EQ(death->oom->limit_owner, "host");
    EXPECT_FALSE(death->oom->limit) << "the limit of the cgroup was not the reason";
}

TEST(DeathByOomKiller, HasAnUnknownConstraintWithoutEvidence) {
    DeathEvidence evidence = oom_killed();
    evidence.oom->owner = {};
    EXPECT_EQ(name_of(decide_death(evidence, {})->oom->constraint), "unknown");
    EXPECT_EQ(name_of(decide_death(evidence, {.host_short = true})->oom->constraint), "host");
}

TEST(DeathByOomKiller, IsKnownFromTheLogAloneWithoutAHook) {
    const LoggedOomKill line{.thread = 100, .constraint = OomConstraint::cgroup, .limit_owner = "a/b"};
    EXPECT_EQ(cause_of(ended_by(SIGKILL), {.logged = &line}), "oom_kill");
    EXPECT_EQ(decide_death(ended_by(SIGKILL), {.logged = &line})->oom->limit_owner, "a/b");
    DeathEvidence killed = ended_by(SIGKILL);
    killed.kill = sent(SIGKILL, 300, "bash");
    EXPECT_EQ(cause_of(killed, {.logged = &line}), "sigkill")
        << "the line is about an earlier process with the same pid";
    EXPECT_EQ(cause_of(exited_with(1), {.logged = &line}), "none");
}

TEST(DeathBySigkill, HasItsSender) {
    DeathEvidence evidence = ended_by(SIGKILL);
    EXPECT_EQ(sender_of(evidence), "none") << "the sender is not known";
    evidence.kill = sent(SIGKILL, 300, "bash");
    EXPECT_EQ(sender_of(evidence), "outside");
    EXPECT_EQ(decide_death(evidence, {})->sent_by->pid, 300);
    EXPECT_EQ(sender_of(evidence, {.sender_in_tree = true}), "tree");
    evidence.kill = sent(SIGKILL, 100, "python");
    EXPECT_EQ(sender_of(evidence), "tree") << "it sent the signal to itself";
    evidence.kill = sent(SIGKILL, 300, "kworker", true);
    EXPECT_EQ(sender_of(evidence), "kernel");
    EXPECT_FALSE(decide_death(evidence, {})->sent_by);
}

TEST(DeathBySigkill, IsTeardownIfSentByTheTreeOrAfterTheRootBeganToExit) {
    DeathEvidence evidence = ended_by(SIGKILL);
    evidence.kill = sent(SIGKILL, 300, "systemd");
    EXPECT_TRUE(decide_death(evidence, {})->news);
    EXPECT_TRUE(decide_death(evidence, {.root_ending_ns = evidence.kill->time_ns + 1})->news) << "the root ended later";
    const auto after = decide_death(evidence, {.root_ending_ns = evidence.kill->time_ns});
    EXPECT_FALSE(after->news);
    EXPECT_EQ(name_of(after->sender), "tree");
    EXPECT_EQ(after->sent_by->comm, "systemd") << "the sender is reported all the same";
    EXPECT_FALSE(decide_death(evidence, {.sender_in_tree = true})->news);
}

TEST(DeathBySigkill, IsAttributedToTheInitOfAnEndingPidNamespace) {
    DeathEvidence evidence = ended_by(SIGKILL);
    evidence.kill = sent(SIGKILL, 50, "tini", true);
    evidence.kill->at_exit = true;
    EXPECT_EQ(sender_of(evidence, {.sender_in_tree = true}), "tree");
    EXPECT_EQ(sender_of(evidence), "outside") << "for instance a tracer that exits";
}

TEST(DeathBySigkill, BySlurmIsNewsAlthoughSlurmIsInTheCgroupOfTheJob) {
    DeathEvidence evidence = ended_by(SIGKILL);
    evidence.kill = sent(SIGKILL, 50, "slurmstepd");
    const auto death = decide_death(evidence, {.target = "slurm/job_1", .sender_in_tree = true});
    EXPECT_EQ(name_of(death->sender), "outside");
    EXPECT_EQ(death->sent_for, "Slurm");
    evidence.kill->sender.comm = "systemd";
    EXPECT_EQ(sender_of(evidence, {.sender_in_tree = true}), "tree") << "the sender is in the watched session";
}

TEST(DeathBySigbus, IsSentByTheKernelAndNamesTheMappedFile) {
    DeathEvidence evidence = ended_by(SIGBUS | 0x80);
    evidence.other = sent(SIGBUS, 100, "python", true);
    evidence.bus = FaultedFile{.place = {0x01021994, 25}, .name = "torch_1_2"};
    const auto death = decide_death(evidence, {});
    EXPECT_EQ(name_of(death->cause), "sigbus");
    EXPECT_EQ(name_of(death->sender), "kernel");
    EXPECT_EQ(death->mapping->file_system, "tmpfs");
    EXPECT_EQ(death->mapping->name, "torch_1_2");
    evidence.failure = failed(MS_FAILED_FALLOCATE, MS_REASON_ENOSPC, 1);
    EXPECT_EQ(cause_of(evidence), "sigbus") << "the fatal signal takes precedence over the failed allocation";
}

TEST(DeathBySignal, IncludesCrashes) {
    for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGSYS, SIGXCPU, SIGUSR1})
        EXPECT_EQ(cause_of(ended_by(signal)), "signal") << signal;
    DeathEvidence aborted = ended_by(SIGABRT);
    aborted.other = sent(SIGABRT, 100, "python");
    EXPECT_EQ(sender_of(aborted), "none") << "it sent the signal to itself";
    aborted.other = sent(SIGSEGV, 100, "python", true);
    EXPECT_EQ(sender_of(aborted), "none") << "that was another signal, which it survived";
    DeathEvidence crashed = ended_by(SIGSEGV);
    crashed.other = sent(SIGSEGV, 100, "python", true);
    EXPECT_EQ(sender_of(crashed), "kernel");
}

TEST(DeathBySignal, IgnoresTerminationRequests) {
    for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM}) {
        DeathEvidence evidence = ended_by(signal);
        EXPECT_EQ(cause_of(evidence), "none") << signal;
        evidence.other = sent(signal, 300, "bash");
        EXPECT_EQ(cause_of(evidence), "none") << signal;
    }
}

TEST(DeathBySignal, IncludesSigtermFromAnOomDaemon) {
    DeathEvidence evidence = ended_by(SIGTERM);
    evidence.other = sent(SIGTERM, 300, "earlyoom");
    const auto death = decide_death(evidence, {});
    ASSERT_TRUE(death);
    EXPECT_EQ(name_of(death->cause), "signal");
    EXPECT_EQ(name_of(death->sender), "outside");
    EXPECT_EQ(death->sent_for, "earlyoom");
}

TEST(DeathAfterAFailedAllocation, IsAFailedExitShortlyAfterTheAllocation) {
    DeathEvidence evidence = exited_with(1);
    EXPECT_EQ(cause_of(evidence), "none");
    evidence.failure = failed(MS_FAILED_MMAP, MS_REASON_ENOMEM, kSecond);
    const auto death = decide_death(evidence, {});
    ASSERT_TRUE(death && death->allocation);
    EXPECT_EQ(name_of(death->cause), "alloc_failed");
    EXPECT_EQ(name_of(death->sender), "none");
    EXPECT_EQ(death->exit_status, 1);
    EXPECT_FALSE(death->signal);
    EXPECT_EQ(death->allocation->call, "mmap");
    EXPECT_EQ(death->allocation->reason, "enomem");
    EXPECT_EQ(death->allocation->before_exit, Seconds{1});
    evidence.failure = failed(MS_FAILED_MMAP, MS_REASON_ENOMEM, MS_FAILURE_EXPLAINS_NS);
    EXPECT_EQ(cause_of(evidence), "none") << "too long ago";
    evidence.failure = failed(MS_FAILED_MMAP, MS_REASON_ENOMEM, kSecond);
    evidence.exit_code = 0;
    EXPECT_EQ(cause_of(evidence), "none") << "it exited normally";
}

TEST(DeathAfterAFailedAllocation, IncludesCrashesButNoSignalsOfOtherProcesses) {
    for (const int signal : {SIGABRT, SIGSEGV}) {
        DeathEvidence evidence = ended_by(signal);
        evidence.failure = failed(MS_FAILED_BRK, MS_REASON_ENOMEM, kSecond);
        EXPECT_EQ(cause_of(evidence), "alloc_failed");
        evidence.other = sent(signal, 100, "python");
        EXPECT_EQ(cause_of(evidence), "alloc_failed");
        evidence.other = sent(signal, 300, "bash");
        EXPECT_EQ(cause_of(evidence), "signal");
    }
    DeathEvidence killed = ended_by(SIGKILL);
    killed.failure = failed(MS_FAILED_MMAP, MS_REASON_ENOMEM, 1);
    EXPECT_EQ(cause_of(killed), "sigkill");
    DeathEvidence interrupted = ended_by(SIGINT);
    interrupted.failure = failed(MS_FAILED_MMAP, MS_REASON_ENOMEM, 1);
    EXPECT_EQ(cause_of(interrupted), "none");
}

TEST(DeathAfterACudaFailure, HasTheDeviceAndTheSize) {
    DeathEvidence evidence = exited_with(1);
    evidence.cuda_failure =
        CudaFailure{.time_ns = evidence.time_ns - kSecond, .size = Bytes{1 << 20}, .device = GpuUuid{1}};
    const auto death = decide_death(evidence, {});
    ASSERT_TRUE(death && death->gpu);
    EXPECT_EQ(name_of(death->cause), "cuda_oom");
    EXPECT_EQ(death->gpu->gpu, "GPU-01000000-0000-0000-0000-000000000000");
    EXPECT_EQ(death->gpu->size, Bytes{1 << 20});
    EXPECT_EQ(death->gpu->before_exit, Seconds{1});
    evidence.cuda_failure->time_ns = evidence.time_ns - MS_FAILURE_EXPLAINS_NS;
    EXPECT_EQ(cause_of(evidence), "none") << "too long ago";
    evidence.cuda_failure->time_ns = evidence.time_ns - kSecond;
    evidence.exit_code = 0;
    EXPECT_EQ(cause_of(evidence), "none") << "it exited normally";
    DeathEvidence killed = ended_by(SIGKILL);
    killed.cuda_failure = evidence.cuda_failure;
    EXPECT_EQ(cause_of(killed), "sigkill");
}

TEST(DeathAfterACudaFailure, NamesTheLastFailedAllocation) {
    DeathEvidence evidence = exited_with(1);
    evidence.failure = failed(MS_FAILED_MMAP, MS_REASON_ENOMEM, kSecond);
    evidence.cuda_failure = CudaFailure{.time_ns = evidence.time_ns - 2 * kSecond, .size = Bytes{1}};
    EXPECT_EQ(cause_of(evidence), "alloc_failed");
    evidence.cuda_failure->time_ns = evidence.time_ns - kSecond / 2;
    EXPECT_EQ(cause_of(evidence), "cuda_oom");
}

TEST(DeathAfterAFailedAllocation, HasTheSizeOfThePyTorchTensor) {
    DeathEvidence evidence = exited_with(1);
    evidence.host_failure =
        HostTensorFailure{.time_ns = evidence.time_ns - kSecond, .size = Bytes{std::uint64_t{8} << 30}};
    const auto alone = decide_death(evidence, {});
    ASSERT_TRUE(alone && alone->allocation);
    EXPECT_EQ(name_of(alone->cause), "alloc_failed");
    EXPECT_EQ(alone->allocation->tensor, Bytes{std::uint64_t{8} << 30});
    EXPECT_EQ(alone->allocation->call, "");
    EXPECT_EQ(alone->allocation->before_exit, Seconds{1});
    evidence.failure = failed(MS_FAILED_MMAP, MS_REASON_ENOMEM, 2 * kSecond);
    const auto both = decide_death(evidence, {});
    EXPECT_EQ(both->allocation->call, "mmap");
    EXPECT_EQ(both->allocation->tensor, Bytes{std::uint64_t{8} << 30});
    EXPECT_EQ(both->allocation->before_exit, Seconds{1});
    evidence.host_failure->time_ns = evidence.time_ns - MS_FAILURE_EXPLAINS_NS;
    EXPECT_FALSE(decide_death(evidence, {})->allocation->tensor) << "too long ago";
    evidence.cuda_failure = CudaFailure{.time_ns = evidence.time_ns - kSecond, .size = Bytes{1}};
    EXPECT_EQ(cause_of(evidence), "cuda_oom");
    evidence.host_failure->time_ns = evidence.time_ns - kSecond / 2;
    EXPECT_EQ(cause_of(evidence), "alloc_failed");
}

TEST(DeathAfterAFailedAllocation, NamesTheFileSystemOfTheFile) {
    DeathEvidence evidence = exited_with(1);
    evidence.failure = failed(MS_FAILED_FALLOCATE, MS_REASON_ENOSPC, 1);
    evidence.failure->place = FileSystemId{0x01021994, 25};
    EXPECT_EQ(decide_death(evidence, {})->allocation->file->file_system, "tmpfs");
    evidence.failure->place = FileSystemId{0x1234, 25};
    EXPECT_EQ(decide_death(evidence, {})->allocation->file->file_system, "0x1234");
}

}  // namespace decide_death_test
}  // namespace memscope
