#include "analysis/deaths/death_sentence.h"

#include <gtest/gtest.h>

#include "analysis/deaths/decide_death.h"
#include "deaths.h"
#include <memscope/shared/deaths.h>

namespace memscope {
namespace death_sentence_test {

using namespace test;

std::string explanation(const DeathEvidence& evidence, const DeathScene& scene = {}) {
    auto death = decide_death(evidence, scene);
    if (!death) return "nobody died";
    death->role = {Role::trainer, 3};
    return death_sentence(*death);
}

TEST(DeathSentence, NamesTheVictimTheReasonAndTheAllocatingProcess) {
    EXPECT_EQ(explanation(oom_killed()),
              "the kernel's OOM killer killed python (pid 100, trainer, rank 3) at the limit of train of 512 MiB, it "
              "held 400 MiB; "
              "loader (pid 200) had asked for memory");
    EXPECT_EQ(explanation(oom_killed(100)),
              "the kernel's OOM killer killed python (pid 100, trainer, rank 3) at the limit of train of 512 MiB, it "
              "held 400 MiB")
        << "the victim itself asked for memory";
}

TEST(DeathSentence, NamesTheSenderOfTheSignal) {
    DeathEvidence evidence = ended_by(SIGKILL);
    EXPECT_EQ(explanation(evidence), "python (pid 100, trainer, rank 3) was killed by SIGKILL");
    evidence.kill = sent(SIGKILL, 300, "bash");
    EXPECT_EQ(explanation(evidence), "python (pid 100, trainer, rank 3) was killed by SIGKILL from bash (pid 300)");
    EXPECT_EQ(
        explanation(evidence, {.sender_in_tree = true}),
        "python (pid 100, trainer, rank 3) was killed by SIGKILL from bash (pid 300), a process of the same target");
    evidence.kill->sender.comm = "runc";
    EXPECT_EQ(explanation(evidence, {.target = "kubepods.slice/pod1"}),
              "python (pid 100, trainer, rank 3) was killed by SIGKILL from runc (pid 300), the kubelet");
    evidence.kill->sender.comm = "systemd-oomd";
    EXPECT_EQ(explanation(evidence),
              "python (pid 100, trainer, rank 3) was killed by SIGKILL from systemd-oomd (pid 300)");
}

TEST(DeathSentence, NamesTheFullFileSystem) {
    DeathEvidence bus = ended_by(SIGBUS);
    bus.other = sent(SIGBUS, 100, "python", true);
    bus.bus = FaultedFile{.place = {0x01021994, 25}, .name = "torch_1"};
    auto death = decide_death(bus, {});
    death->mapping->mount = "/dev/shm";
    EXPECT_EQ(death_sentence(*death),
              "python (pid 100) was ended by SIGBUS from the kernel: no room for 'torch_1' on the tmpfs at /dev/shm");
    DeathEvidence refused = exited_with(1);
    refused.failure = failed(MS_FAILED_MMAP, MS_REASON_ENOMEM, kSecond / 2);
    EXPECT_EQ(explanation(refused),
              "python (pid 100, trainer, rank 3) exited with 1 0.5 s after mmap of 1.0 GiB failed, no memory left");
}

TEST(DeathSentence, NamesTheHoldersOfGpuMemory) {
    constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
    DeathEvidence evidence = exited_with(1);
    evidence.cuda_failure = CudaFailure{.time_ns = evidence.time_ns - kSecond / 2, .size = Bytes{2 * kGiB}};
    EXPECT_EQ(
        explanation(evidence),
        "python (pid 100, trainer, rank 3) exited with 1 0.5 s after the CUDA driver had no 2.0 GiB for it on its "
        "GPU");
    auto death = decide_death(evidence, {});
    death->gpu->index = 3;
    death->gpu->free = Bytes{kGiB};
    death->gpu->total = Bytes{80 * kGiB};
    death->gpu->reserved = Bytes{70 * kGiB};
    death->gpu->holders = {{{100, "python"}, Bytes{71 * kGiB}}, {{7, "vllm\n"}, Bytes{8 * kGiB}}};
    EXPECT_EQ(death_sentence(*death),
              "python (pid 100) exited with 1 0.5 s after the CUDA driver had no 2.0 GiB for it on GPU 3: 1.0 GiB was "
              "free of 80 GiB, it had reserved 70 GiB itself; vllm\\n (pid 7) held 8.0 GiB");
    death->gpu->read_after = Seconds{-1.25};
    EXPECT_NE(death_sentence(*death).find("1.0 GiB was free of 80 GiB 1.2 s before that call, it"), std::string::npos)
        << death_sentence(*death);
    death->gpu->read_after = Seconds{0.1};
    EXPECT_NE(death_sentence(*death).find("1.0 GiB was free of 80 GiB, it"), std::string::npos);
    death->gpu->read_after = Seconds{2};
    EXPECT_NE(death_sentence(*death).find("1.0 GiB was free of 80 GiB 2.0 s after that call, it"), std::string::npos);
    death->gpu->size = Bytes{96 * kGiB};
    EXPECT_EQ(death_sentence(*death),
              "python (pid 100) exited with 1 0.5 s after the CUDA driver had no 96 GiB for it on GPU 3: that is more "
              "than the whole GPU has (80 GiB)");
    death->gpu->size = Bytes{2 * kGiB};
    death->gpu->of_host = true;
    EXPECT_EQ(death_sentence(*death),
              "python (pid 100) exited with 1 0.5 s after the CUDA driver had no 2.0 GiB for it of pinned host memory");
}

TEST(DeathSentence, IsOneSafeLineForAnyNames) {
    DeathEvidence evidence = oom_killed();
    evidence.comm = "a\x1b[2J\nb";
    evidence.oom->trigger.comm = "\xff\n";
    evidence.oom->owner.name = "c\rd";
    const std::string text = explanation(evidence);
    for (const char byte : text) EXPECT_GE(static_cast<unsigned char>(byte), 0x20) << text;
    DeathEvidence bus = ended_by(SIGBUS);
    bus.bus = FaultedFile{.place = {0x01021994, 25}, .name = "x\ny"};
    EXPECT_EQ(explanation(bus).find('\n'), std::string::npos);
}

TEST(DeathSentence, NamesSignals) {
    EXPECT_EQ(signal_name(SIGSEGV), "SIGSEGV");
    EXPECT_EQ(signal_name(60), "signal 60");
}

TEST(ProcessManagers, AreRecognizedByTheirNames) {
    EXPECT_EQ(process_manager_of("slurmstepd", "slurm/job_1"), "Slurm");
    EXPECT_EQ(process_manager_of("earlyoom", "train"), "earlyoom");
    EXPECT_EQ(process_manager_of("systemd", "system.slice/a.service"), "systemd");
    EXPECT_EQ(process_manager_of("containerd-shim", "kubepods/burstable/pod1"), "the kubelet");
    EXPECT_EQ(process_manager_of("runc:[2:INIT]", "system.slice/docker-1.scope"), "Docker");
    EXPECT_EQ(process_manager_of("crun", "machine.slice/libpod-1.scope"), "Podman");
    EXPECT_EQ(process_manager_of("crun", "a"), "the container runtime");
    EXPECT_EQ(process_manager_of("bash", "kubepods"), "");
    EXPECT_EQ(process_manager_of("", ""), "");
    EXPECT_TRUE(kills_for_memory("systemd-oomd"));
    EXPECT_FALSE(kills_for_memory("systemd"));
}

}  // namespace death_sentence_test
}  // namespace memscope
