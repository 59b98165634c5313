#include "analysis/roles/watch_candidates.h"

#include <gmock/gmock.h>

#include "base/text.h"

namespace memscope {
namespace watch_candidates_test {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kMiB = 1U << 20U;

ListedProcess process(pid_t pid, pid_t parent, std::string_view command, std::uint64_t mebibytes,
                      std::string cgroup = "user.slice/session.scope") {
    ListedProcess made{.id = {pid, static_cast<std::uint64_t>(pid)}, .parent = parent, .cgroup = std::move(cgroup)};
    for (const auto word : split(command, ' ')) made.argv.emplace_back(word);
    made.comm = made.argv.front().substr(made.argv.front().rfind('/') + 1);
    made.memory = {mebibytes * kMiB};
    return made;
}

std::vector<std::string> names(const std::vector<WatchCandidate>& found) {
    std::vector<std::string> names;
    for (const WatchCandidate& each : found) names.push_back(each.name);
    return names;
}

TEST(Candidates, AreTheTreesOfTrainersLargestFirst) {
    const std::vector<ListedProcess> processes{
        process(1, 0, "/sbin/init", 20, ""),
        process(10, 1, "sshd", 5),
        process(11, 10, "-bash", 5),
        process(12, 11, "python3 small.py", 100),
        process(13, 11, "python3 train.py", 900),
        process(14, 13, "python3 train.py", 300),
        process(20, 1, "/usr/bin/postgres", 4000, "system.slice/postgres.service"),
        process(30, 1, "/usr/bin/python3 /usr/bin/networkd-dispatcher", 25, "system.slice/n.service")};
    const auto found = find_candidates(processes, 8);
    ASSERT_THAT(names(found), ElementsAre("train.py", "small.py"));
    EXPECT_EQ(found[0].pid, 13);
    EXPECT_EQ(found[0].processes, 2U);
    EXPECT_EQ(found[0].memory.n, 1200 * kMiB);
    EXPECT_TRUE(found[0].trains);
    EXPECT_EQ(found[0].cgroup, "") << "the session contains other processes";
}

TEST(Candidates, RanksOfOneLauncherAreOneJobInItsCgroup) {
    const std::string cgroup = "system.slice/slurmstepd.scope/job_7/step_0";
    const std::vector<ListedProcess> processes{process(1, 0, "/sbin/init", 20, ""),
                                               process(5, 1, "slurmstepd", 9, cgroup + "/slurm"),
                                               process(6, 5, "bash /var/spool/job7.sh", 3, cgroup),
                                               process(7, 6, "torchrun --nproc-per-node 2 train.py", 60, cgroup),
                                               process(8, 7, "python3 train.py", 500, cgroup),
                                               process(9, 7, "python3 train.py", 500, cgroup + "/task")};
    const auto found = find_candidates(processes, 8);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].pid, 6);
    EXPECT_EQ(found[0].processes, 4U);
    EXPECT_EQ(found[0].cgroup, cgroup);
}

TEST(Candidates, AJobThatSharesItsCgroupIsWatchedByItsPid) {
    const std::vector<ListedProcess> processes{process(1, 0, "/sbin/init", 20, ""),
                                               process(3, 1, "python3 train.py", 500, "jobs"),
                                               process(4, 1, "/usr/bin/other", 5, "jobs/below")};
    EXPECT_EQ(find_candidates(processes, 8).at(0).cgroup, "");
    EXPECT_EQ(find_candidates(std::span(processes).first(2), 8).at(0).cgroup, "jobs");
}

TEST(Candidates, ACgroupOfItsOwnSeparatesAJobFromItsStarter) {
    const std::vector<ListedProcess> processes{process(1, 0, "/sbin/init", 20, ""),
                                               process(3, 1, "python3 scheduler.py", 70, "scheduler"),
                                               process(4, 3, "python3 train.py", 500, "job")};
    const auto found = find_candidates(processes, 8);
    ASSERT_THAT(names(found), ElementsAre("train.py", "scheduler.py"));
    EXPECT_EQ(found[0].cgroup, "job");
    EXPECT_EQ(found[1].processes, 1U);
    EXPECT_EQ(found[1].memory.n, 70 * kMiB);
}

TEST(Candidates, WithoutTrainersTheLargestProcessesAreOffered) {
    const std::vector<ListedProcess> processes{process(1, 0, "/sbin/init", 20, ""),
                                               process(3, 1, "/opt/simulate --steps 3", 500, "sim"),
                                               process(4, 1, "/usr/bin/small", 5, "a")};
    const auto found = find_candidates(processes, 8);
    ASSERT_THAT(names(found), ElementsAre("simulate"));
    EXPECT_FALSE(found[0].trains);
}

TEST(Candidates, AreBoundedForAnyProcesses) {
    EXPECT_THAT(find_candidates({}, 8), IsEmpty());
    std::vector<ListedProcess> circle{process(3, 4, "python3 a.py", 100), process(4, 3, "python3 b.py", 100)};
    circle[0].id.start_ns = circle[1].id.start_ns = 7;
    EXPECT_LE(find_candidates(circle, 8).size(), 2U);
    std::vector<ListedProcess> many;
    for (pid_t pid = 2; pid < 50; ++pid)
        many.push_back(process(pid, 1, "python3 a.py", 100, "c" + std::to_string(pid)));
    EXPECT_EQ(find_candidates(many, 8).size(), 8U);
}

}  // namespace watch_candidates_test
}  // namespace memscope
