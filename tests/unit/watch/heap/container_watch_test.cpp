#include "watch/heap/container_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memscope {
namespace container_watch_test {

constexpr ProcessId kTrainer{100, 5};
constexpr Bytes kSize{1 << 30};

HeapCensus census(const ProcessId& process, double time, std::size_t containers) {
    auto places = std::make_shared<std::vector<ContainerPlace>>();
    for (std::size_t i = 0; i < containers; ++i)
        places->push_back({.address = 0x10000 + 0x100 * i, .type = 0x500, .items = 0x40, .length = 10});
    return {.process = process, .time = time, .places = std::move(places)};
}

ProcessTable::Living living(const std::vector<ProcessId>& ids, Bytes anon = kSize) {
    ProcessTable::Living all;
    for (const ProcessId& id : ids) {
        all[id.pid].task.id = id;
        all[id.pid].task.memory = AddressSpace{.anon = anon};
    }
    return all;
}

// A helper that answers when the test says so. All containers have this length.
struct Helper {
    std::vector<LengthsJob> asked{};  // each job once
    bool answers = true;
    std::uint64_t length = 10;
    Seconds cost{0.001};
    double time = 1000;

    ContainerWatch::Read read() {
        return [this](const LengthsJob& job) -> std::optional<Result<LengthsAnswer>> {
            if (asked.empty() || asked.back().number != job.number) asked.push_back(job);
            if (!answers) return std::nullopt;
            LengthsAnswer answer{.time = time, .cpu = cost};
            answer.readings.assign(job.places.size(), {ContainerReading::State::same, length, 0x40});
            return Result<LengthsAnswer>(std::move(answer));
        };
    }
};

TEST(ContainerWatch, LooksEveryMinuteAndEveryFiveSecondsWhileSomethingGrows) {
    Helper helper;
    ContainerWatch watch;
    const auto processes = living({kTrainer});
    watch.pump(Seconds{1}, processes, helper.read());
    EXPECT_TRUE(helper.asked.empty()) << "there was no census";
    watch.add(census(kTrainer, 999, 3));
    watch.pump(Seconds{1}, processes, helper.read());
    ASSERT_EQ(helper.asked.size(), 1U) << "at once";
    EXPECT_EQ(helper.asked[0].places.size(), 3U);
    const auto look = [&](double now, const ProcessTable::Living& at) {
        helper.time = 1000 + now;
        watch.pump(Seconds{now}, at, helper.read());
        return helper.asked.size();
    };
    EXPECT_EQ(look(60, processes), 1U);
    EXPECT_EQ(look(61, processes), 2U);
    EXPECT_EQ(look(67, living({kTrainer}, Bytes{kSize.n + (1 << 20)})), 3U) << "the process grows";
    helper.length = 20;
    EXPECT_EQ(look(127, processes), 4U) << "a container grows";
    EXPECT_EQ(look(131, processes), 4U);
    EXPECT_EQ(look(132, processes), 5U);
}

TEST(ContainerWatch, AGainingContainerOfARealRhythmIsFoundWithinAMinute) {
    Helper helper;
    ContainerWatch watch;
    watch.add(census(kTrainer, 1000, 50'000));
    const auto processes = living({kTrainer});
    double found = 0;
    for (double now = 1; now < 120 && found == 0; ++now) {
        helper.time = 1000 + now;
        helper.length = 10 + static_cast<std::uint64_t>(now);
        watch.pump(Seconds{now}, processes, helper.read());
        for (const GrowingContainer& each : watch.find(kTrainer)->growing())
            if (each.looks >= 5 && each.gained_at - each.since >= 30) found = now;
    }
    EXPECT_GT(found, 0);
    EXPECT_LE(found, 60);
}

TEST(ContainerWatch, ExpensiveLooksAreRarer) {
    Helper helper{.cost = Seconds{0.1}};
    ContainerWatch watch;
    watch.add(census(kTrainer, 1000, 3));
    double spent = 0;
    for (double now = 1; now <= 1000; ++now) {
        helper.time = 1000 + now;
        helper.length = static_cast<std::uint64_t>(now);
        watch.pump(Seconds{now}, living({kTrainer}), helper.read());
    }
    spent = 0.1 * static_cast<double>(helper.asked.size());
    EXPECT_LE(spent, 1000 * ContainerWatch::kMostShare + 0.1);
    EXPECT_GT(helper.asked.size(), 40U);
}

TEST(ContainerWatch, AnAnswerThatComesLaterIsTakenAndOneOfAnEndedProcessIsNot) {
    Helper helper{.answers = false};
    ContainerWatch watch;
    watch.add(census(kTrainer, 999, 3));
    watch.pump(Seconds{1}, living({kTrainer}), helper.read());
    watch.pump(Seconds{2}, living({kTrainer}), helper.read());
    EXPECT_EQ(helper.asked.size(), 1U);
    watch.pump(Seconds{3}, living({{kTrainer.pid, 6}}), helper.read());
    EXPECT_EQ(watch.find(kTrainer), nullptr) << "another process has its pid";
    helper.answers = true;
    watch.pump(Seconds{4}, living({}), helper.read());
    EXPECT_EQ(watch.containers(), 0U);
}

TEST(ContainerWatch, KeepsABoundedNumberOfContainersAndDropsTheOldestCensus) {
    ContainerWatch watch;
    for (pid_t pid = 1; pid <= 4; ++pid) watch.add(census({pid, 1}, 1000 + pid, 40'000));
    EXPECT_LE(watch.containers(), ContainerWatch::kMostContainers);
    EXPECT_EQ(watch.find({1, 1}), nullptr);
    EXPECT_NE(watch.find({4, 1}), nullptr);
}

}  // namespace container_watch_test
}  // namespace memscope
