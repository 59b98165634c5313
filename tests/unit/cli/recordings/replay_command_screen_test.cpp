// The screen of a replay is that of the live view, tick by tick.
#include <gmock/gmock.h>

#include "review/replay.h"
#include "support/fake_tree.h"
#include "support/recorded_job.h"
#include "view/screen.h"
#include "view/state.h"

namespace memscope {
namespace replay_command_screen_test {

constexpr std::uint64_t kMiB = 1U << 20U;

// What View does with a tick, without a terminal.
struct Drawn {
    view::State state{};
    view::History history{};
    view::Look look{.width = 120, .height = 40};

    std::string tick(const Snapshot& snapshot) {
        view::add_deaths(state, snapshot);
        history.add(snapshot);
        std::string text;
        for (const view::Line& line : view::render(state, snapshot, history, look).lines) {
            for (const view::Span& span : line.spans)
                text += span.text + "{" + std::to_string(static_cast<int>(span.style)) + "}";
            text += "\n";
        }
        return text;
    }
};

// A job with a second role, a limit, GPUs, a verdict that changes, precursors and a death.
Snapshot eventful_tick(int i) {
    Snapshot snapshot = tick_of("train", 1'000'000.25 + i, {kMiB * static_cast<std::uint64_t>(100 + 7 * i)}, 3);
    snapshot.self.resident = {21 * kMiB};
    snapshot.self.tick_duration = Seconds{0.001 * i};
    snapshot.self.dropped["tree_ring_full"] = static_cast<std::uint64_t>(i / 10);
    TargetSnapshot& target = snapshot.targets.front();
    target.memory.effective = EffectiveLimit{"/train", {1024 * kMiB}, {target.memory.usage}};
    target.memory.by_kind.file = {kMiB * static_cast<std::uint64_t>(i % 5)};
    Process worker;
    worker.task.id = {900 + i / 10, 77};
    worker.task.comm = "pt_data_worker";
    worker.task.memory = AddressSpace{.anon = {kMiB * static_cast<std::uint64_t>(i)}};
    worker.role = Role::dataloader_worker;
    worker.command = std::make_shared<const std::string>("python3 -u train.py");
    target.processes.push_back(worker);
    RoleTotals& workers = target.roles[{Role::dataloader_worker, std::nullopt}];
    workers.anon = worker.task.memory->anon;
    workers.processes = 1;
    if (i > 20) {
        target.verdicts.front().judgement.verdict = Verdict::leaking;
        target.verdicts.front().explanation = "the floor rises by 7 MiB/s";
    }
    if (i > 30) target.precursors.push_back({.kind = PrecursorKind::eta, .reason = "the limit is reached in 60 s"});
    if (i == 35)
        target.deaths.push_back({.id = {905, 77},
                                 .comm = "pt_data_worker",
                                 .cause = DeathCause::oom_kill,
                                 .news = true,
                                 .explanation = "killed by the kernel"});
    return snapshot;
}

TEST(AReplayedScreen, IsTheLiveScreenTickByTick) {
    constexpr int kTicks = 60;
    FakeTree tree{{"state/", ""}};
    std::vector<std::string> live;
    auto file = store_in(tree.at("state")).create("train", 1'000'000);
    ASSERT_TRUE(file);
    const fs::path path = file->path;
    {
        Drawn screen;
        auto writer = recording::RecordingFile::create(*std::move(file), {{"begin", "1000000"}}, Seconds{100});
        ASSERT_TRUE(writer);
        const auto id = writer->add_target({.name = "train"});
        ASSERT_TRUE(id);
        for (int i = 0; i < kTicks; ++i) {
            const Snapshot snapshot = eventful_tick(i);
            live.push_back(screen.tick(snapshot));
            ASSERT_TRUE(writer->add_tick(*id, Seconds(100.0 + i), snapshot, snapshot.targets.front()));
        }
        ASSERT_TRUE(writer->close());
    }
    Recording recording = reopened(path);
    auto target = recording.target({});
    auto replay = Replay::open(std::move(recording), *std::move(target));
    ASSERT_TRUE(replay);

    Drawn screen;
    for (int i = 0; i < kTicks; ++i) {
        const auto frame = replay->take_frame();
        ASSERT_TRUE(frame);
        ASSERT_EQ(frame->ticks.size(), 1U);
        EXPECT_EQ(screen.tick(*frame->ticks.front()), live[static_cast<std::size_t>(i)]) << "tick " << i;
        replay->advance(Seconds{1});
    }
}

// After a jump, sparklines and rates are those of a run that was watched all the time.
TEST(AReplayedScreen, IsTheLiveScreenAfterAJump) {
    constexpr int kTicks = 200;
    FakeTree tree{{"state/", ""}};
    std::string last;
    const fs::path path = recorded_run(tree.at("state"), "train", kTicks,
                                       [](int i) { return Bytes{kMiB * static_cast<std::uint64_t>(100 + i % 13)}; });
    Drawn live;
    for (int i = 0; i < kTicks; ++i)
        last = live.tick(tick_of("train", 1'000'000.0 + i, {kMiB * static_cast<std::uint64_t>(100 + i % 13)}));
    Recording recording = reopened(path);
    auto target = recording.target({});
    auto replay = Replay::open(std::move(recording), *std::move(target));
    ASSERT_TRUE(replay);
    replay->move_to(replay->length());
    const auto frame = replay->take_frame();
    ASSERT_TRUE(frame);
    Drawn screen{.history = view::History(replay->first_time())};
    screen.history.begin_curve("train", view::curve_of(frame->earlier, frame->earlier_deaths));
    std::string replayed;
    for (const SnapshotPtr& tick : frame->ticks) replayed = screen.tick(*tick);
    EXPECT_EQ(replayed, last);
}

}  // namespace replay_command_screen_test
}  // namespace memscope
