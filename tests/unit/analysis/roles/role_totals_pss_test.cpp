#include <gtest/gtest.h>

#include "analysis/roles/role_totals.h"

namespace memscope {
namespace role_totals_pss_test {

Process process(pid_t pid, Role role, std::uint64_t anon) {
    Process made;
    made.task.id = {pid, 1};
    made.task.memory = AddressSpace{.anon = {anon}};
    made.role = role;
    return made;
}

SharingReading reading(std::uint64_t pss, std::uint64_t read_ns, std::uint64_t resident = 1000) {
    return {.read_ns = read_ns,
            .pages = PageSharing{.resident = {resident}, .pss = PageSharing::Pss{.all = {pss}, .anon = {pss}}}};
}

constexpr std::uint64_t kNow = 10'000'000'000;

TEST(RolePss, SumsARoleAndHasTheAgeOfItsOldestReading) {
    const Process all[] = {process(1, Role::trainer, 1000), process(2, Role::dataloader_worker, 1000),
                           process(3, Role::dataloader_worker, 1000)};
    const SharingReadings readings = {
        {{1, 1}, reading(600, kNow)}, {{2, 1}, reading(200, kNow - 3'000'000'000)}, {{3, 1}, reading(100, kNow)}};
    const auto sums = sum_pss(all, readings, {}, kNow);
    EXPECT_EQ(sums.at({Role::trainer}).bytes.n, 600U);
    EXPECT_EQ(sums.at({Role::trainer}).age.count(), 0);
    EXPECT_EQ(sums.at({Role::dataloader_worker}).bytes.n, 300U);
    EXPECT_EQ(sums.at({Role::dataloader_worker}).age.count(), 3);
    EXPECT_EQ(sums.at({Role::dataloader_worker}).processes, 2U);
}

TEST(RolePss, ARoleOfWhichTooLittleWasReadHasNoPss) {
    const Process all[] = {process(1, Role::trainer, 700), process(2, Role::trainer, 300)};
    EXPECT_TRUE(sum_pss(all, {{{1, 1}, reading(600, kNow)}}, {}, kNow).empty());
    EXPECT_TRUE(sum_pss(all, {}, {}, kNow).empty());
}

TEST(RolePss, ASmallUnreadProcessDoesNotHideThePssOfItsRole) {
    const Process all[] = {process(1, Role::trainer, 950), process(2, Role::trainer, 50)};
    EXPECT_EQ(sum_pss(all, {{{1, 1}, reading(600, kNow)}}, {}, kNow).at({Role::trainer}).bytes.n, 600U);
}

TEST(RolePss, AnOutdatedReadingDoesNotCount) {
    const Process all[] = {process(1, Role::trainer, 2000)};
    EXPECT_TRUE(sum_pss(all, {{{1, 1}, reading(900, kNow)}}, {}, kNow).empty());
    EXPECT_FALSE(sum_pss(all, {{{1, 1}, reading(900, kNow, 1900)}}, {}, kNow).empty());
}

TEST(RolePss, AnUnreadableProcessHasNoPss) {
    const Process all[] = {process(1, Role::trainer, 1000)};
    EXPECT_TRUE(sum_pss(all, {{{1, 1}, {.read_ns = kNow, .pages = {}}}}, {}, kNow).empty());
}

// A trainer and its workers, whose pages were all sampled.
struct SampledJob {
    std::vector<Process> processes{};
    SharingReadings readings{};

    void add(pid_t pid, pid_t parent, std::uint64_t own, std::uint64_t shared, std::uint64_t shared_mapped = 0) {
        processes.push_back(
            process(pid, parent ? Role::dataloader_worker : Role::trainer, own + shared + shared_mapped));
        processes.back().task.parent = parent;
        processes.back().task.forked_without_exec = parent != 0;
        readings[{pid, 1}] = {
            .read_ns = kNow,
            .pages = PageSharing{
                .resident = {own + shared + shared_mapped}, .anonymous = {own + shared}, .own_anon = {own}}};
    }
    std::pair<std::uint64_t, std::uint64_t> pss(std::optional<Bytes> cgroup_anon) const {
        const auto sums = sum_pss(processes, readings, cgroup_anon, kNow);
        return {sums.at({Role::trainer}).bytes.n, sums.at({Role::dataloader_worker}).bytes.n};
    }
};

TEST(RolePss, DividesSharedPagesSoThatTheSumIsThatOfTheCgroup) {
    SampledJob job;  // one worker has copied all its pages, the other two share with the trainer
    job.add(1, 0, 0, 6000);
    job.add(2, 1, 6000, 0);
    job.add(3, 1, 0, 6000);
    job.add(4, 1, 0, 6000);
    EXPECT_EQ(job.pss(Bytes{12'000}), std::pair(2000UL, 10'000UL));
    EXPECT_EQ(job.pss({}), std::pair(1500UL, 9000UL));  // divided by all processes that could share it
}

TEST(RolePss, ASharedPageIsDividedByAtLeastTwoAndAtMostAllProcesses) {
    SampledJob job;
    job.add(1, 0, 100, 1000);
    job.add(2, 1, 100, 1000);
    job.add(3, 1, 100, 1000);
    EXPECT_EQ(job.pss(Bytes{900'000}), std::pair(600UL, 1200UL));
    EXPECT_EQ(job.pss(Bytes{0}), std::pair(433UL, 866UL));
}

TEST(RolePss, WalkedAndSampledProcessesAddUpToTheCgroup) {
    SampledJob job;
    job.add(1, 0, 0, 4000);
    job.add(2, 1, 0, 4000);
    job.readings[{2, 1}].pages->pss = PageSharing::Pss{.all = {2300}, .anon = {2200}};
    EXPECT_EQ(job.pss(Bytes{4100}), std::pair(2000UL, 2300UL));  // at most half each
    EXPECT_EQ(job.pss({}), std::pair(2000UL, 2300UL));
    job.add(3, 1, 0, 4000);
    EXPECT_EQ(job.pss(Bytes{5000}).first, 1400UL);
}

TEST(RolePss, IgnoresTheSumOfTheCgroupWhileProcessesAreUnread) {
    SampledJob job;
    job.add(1, 0, 0, 3000);
    job.add(2, 1, 0, 3000);
    job.add(3, 1, 0, 30);
    job.readings.erase({3, 1});
    EXPECT_EQ(job.pss(Bytes{3030}).first, 1000U);
}

TEST(RolePss, CountsHalfOfTheLibrariesOfASingleProcess) {
    SampledJob job;
    job.add(1, 0, 1000, 0, 100);
    EXPECT_EQ(sum_pss(job.processes, job.readings, Bytes{1000}, kNow).at({Role::trainer}).bytes.n, 1050U);
}

}  // namespace role_totals_pss_test
}  // namespace memscope
