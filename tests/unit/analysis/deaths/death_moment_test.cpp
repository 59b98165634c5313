#include "analysis/deaths/death_moment.h"

#include <gmock/gmock.h>

#include "support/dead_job.h"

namespace memscope {
namespace death_moment_test {

using testing::ElementsAre;
using testing::IsEmpty;

Death death_of(pid_t pid, DeathCause cause, double time, bool news = true) {
    Death death;
    death.id = {pid, 1};
    death.cause = cause;
    death.time = time;
    death.news = news;
    return death;
}

Death oom_kill_of(pid_t pid, double time, std::uint64_t mib, bool marked = true) {
    Death death = death_of(pid, DeathCause::oom_kill, time);
    death.rss_anon = test::in_mib(mib);
    death.oom = OomKill{.marked = marked};
    return death;
}

Snapshot with_deaths(std::vector<Death> deaths) {
    Snapshot snapshot;
    snapshot.targets.resize(1);
    snapshot.targets[0].info.name = "train";
    snapshot.targets[0].deaths = std::move(deaths);
    return snapshot;
}

std::vector<pid_t> pids_of(const std::vector<Death>& deaths) {
    std::vector<pid_t> pids;
    for (const Death& death : deaths) pids.push_back(death.id.pid);
    return pids;
}

TEST(DeathMoment, GroupsTheDeathsOfATreeWithTheLargestOomVictimFirst) {
    const auto moments = death_moments(with_deaths({
        death_of(5, DeathCause::signal, 1),
        oom_kill_of(2, 2, 10),
        oom_kill_of(1, 3, 400),
        oom_kill_of(4, 1, 500, false),  // shared the address space of a victim
        death_of(3, DeathCause::sigkill, 1, false),
    }));
    ASSERT_EQ(moments.size(), 1);
    EXPECT_THAT(pids_of(moments[0].deaths), ElementsAre(1, 2, 4, 5, 3));
}

TEST(DeathMoment, SortsOtherDeathsByCauseAndThenByTime) {
    const auto moments =
        death_moments(with_deaths({death_of(1, DeathCause::sigkill, 9), death_of(2, DeathCause::sigkill, 8),
                                   death_of(3, DeathCause::sigbus, 10)}));
    ASSERT_EQ(moments.size(), 1);
    EXPECT_THAT(pids_of(moments[0].deaths), ElementsAre(3, 2, 1));
}

TEST(DeathMoment, TeardownAloneIsNoNews) {
    EXPECT_FALSE(death_moments(with_deaths({death_of(1, DeathCause::sigkill, 1, false)})).at(0).is_news());
    EXPECT_TRUE(death_moments(with_deaths({death_of(1, DeathCause::sigkill, 1)})).at(0).is_news());
    EXPECT_THAT(death_moments(with_deaths({})), IsEmpty());
}

TEST(DeathMoment, ContinuesARecentEventUnlessTheNewDeathIsMoreImportant) {
    const Death told = death_of(1, DeathCause::sigkill, 10);
    const auto follows = [&](const Death& next) { return belongs_to({"train", {next}}, told); };
    EXPECT_TRUE(follows(death_of(2, DeathCause::sigkill, 11)));
    EXPECT_TRUE(follows(death_of(2, DeathCause::signal, 11)));
    EXPECT_FALSE(follows(death_of(2, DeathCause::signal, 13)));
    EXPECT_FALSE(follows(oom_kill_of(2, 11, 5)));
    EXPECT_TRUE(follows(death_of(2, DeathCause::sigbus, 11, false)));
}

TEST(DeathMoment, ADeathCountsForTheInnermostTarget) {
    Snapshot snapshot = with_deaths({death_of(1, DeathCause::sigkill, 1), death_of(2, DeathCause::sigkill, 1)});
    snapshot.targets.push_back(snapshot.targets[0]);
    snapshot.targets[1].info.name = "train/step_0";
    snapshot.targets[1].deaths.pop_back();
    const auto moments = death_moments(snapshot);
    ASSERT_EQ(moments.size(), 2);
    EXPECT_EQ(moments[0].target, "train");
    EXPECT_THAT(pids_of(moments[0].deaths), ElementsAre(2));
    EXPECT_EQ(moments[1].target, "train/step_0");
    EXPECT_THAT(pids_of(moments[1].deaths), ElementsAre(1));
}

SnapshotPtr at(double time, std::optional<std::uint64_t> trainer_mib) {
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->time = time;
    snapshot->targets = {test::nearly_full()};
    auto& trainer = snapshot->targets[0].processes[1].task.memory;
    if (trainer_mib)
        trainer->anon = test::in_mib(*trainer_mib);
    else
        trainer.reset();
    return snapshot;
}

TEST(LastAlive, IsTheTickBeforeItsMemoryWasFreed) {
    const Death death = test::oom_kill_of_trainer();
    const std::deque<SnapshotPtr> recent{at(1, 400), at(2, 440), at(3, 120), at(4, std::nullopt)};
    EXPECT_EQ(last_alive(recent, "train", death)->time, 2);
}

TEST(LastAlive, IsTheNewestIfNoTickSawTheProcess) {
    Death death = test::oom_kill_of_trainer();
    death.id.pid = 999;
    EXPECT_EQ(last_alive({at(1, 400), at(2, 440)}, "train", death)->time, 2);
    EXPECT_EQ(last_alive({at(1, 400)}, "other", death), nullptr);
    EXPECT_EQ(last_alive({}, "train", death), nullptr);
}

TEST(LastAlive, AnotherProcessOfTheSamePidIsNotIt) {
    Death death = test::oom_kill_of_trainer();
    death.id.start_ns = 5;
    death.rss_anon.reset();
    auto later = std::make_shared<Snapshot>(*at(3, std::nullopt));
    EXPECT_EQ(last_alive({at(1, 400), later}, "train", death)->time, 3);
}

}  // namespace death_moment_test
}  // namespace memscope
