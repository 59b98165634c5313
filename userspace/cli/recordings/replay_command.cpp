#include "cli/recordings/replay_command.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <poll.h>
#include <sys/signalfd.h>

#include "cli/arguments/command_line.h"
#include "cli/recordings/moment.h"
#include "cli/signals.h"
#include "review/find_recording.h"
#include "review/replay.h"
#include "review/run_text.h"
#include "view/view.h"
#include "watch/clock.h"

namespace memscope {
namespace {

using view::ReplayCommand;

constexpr Seconds kShortStep{10};
constexpr Seconds kLongStep = std::chrono::minutes(10);
constexpr Seconds kShortestFrame{0.03};  // a terminal does not show more frames than this

view::Style style_of(const RecordedEvent& event) {
    if (event.kind == "death" || event.text.starts_with("leaking")) return view::Style::bad;
    return event.kind == "precursor" ? view::Style::warn : view::Style::plain;
}

std::vector<view::Timeline::Mark> marks_of(const std::vector<RecordedEvent>& events) {
    std::vector<view::Timeline::Mark> marks;
    for (const RecordedEvent& event : events)
        if (is_notable(event)) marks.push_back({event.at, style_of(event)});
    return marks;
}

view::Timeline timeline_of(const Replay& replay) {
    return {.clock = clock_text(replay.time()),
            .position = replay.position(),
            .length = replay.length(),
            .speed = replay.speed(),
            .paused = replay.paused(),
            .marks = marks_of(replay.events())};
}

void obey(Replay& replay, ReplayCommand command) {
    switch (command) {
        case ReplayCommand::pause:
            return replay.pause(!replay.paused());
        case ReplayCommand::back:
            return replay.move_to(replay.position() - kShortStep);
        case ReplayCommand::forward:
            return replay.move_to(replay.position() + kShortStep);
        case ReplayCommand::far_back:
            return replay.move_to(replay.position() - kLongStep);
        case ReplayCommand::far_forward:
            return replay.move_to(replay.position() + kLongStep);
        case ReplayCommand::tick_back:
            return replay.move_by(-1);
        case ReplayCommand::tick_forward:
            return replay.move_by(1);
        case ReplayCommand::slower:
            return replay.set_speed(replay.speed() / 2);
        case ReplayCommand::faster:
            return replay.set_speed(replay.speed() * 2);
        case ReplayCommand::previous_event:
            return replay.to_previous_event();
        case ReplayCommand::next_event:
            return replay.to_next_event();
    }
}

Status show_frame(Replay& replay, View& view) {
    auto frame = replay.take_frame();
    if (!frame) return frame.error();
    view.set_timeline(timeline_of(replay));
    if (frame->jumped) {
        view.forget_past(replay.first_time());
        view.begin_curve(replay.target().info.name, view::curve_of(frame->earlier, frame->earlier_deaths));
    }
    for (const std::string& note : frame->notes) view.note(note);
    if (frame->ticks.empty()) {
        view.resized();  // the time line may have changed
        return Done{};
    }
    for (std::size_t i = 0; i + 1 < frame->ticks.size(); ++i) view.add_past(frame->ticks[i]);
    view.update(frame->ticks.back());
    return Done{};
}

// Reads the signals that have arrived. True: one of them ends the replay. SIGWINCH only wakes the loop up.
bool take_signals(int fd) {
    signalfd_siginfo info{};
    while (::read(fd, &info, sizeof info) == sizeof info)
        if (info.ssi_signo != SIGWINCH) return true;
    return false;
}

Seconds now() { return Seconds(static_cast<double>(read_clock().boot_ns) * 1e-9); }

int wait_of(const Replay& replay) {
    const auto next = replay.until_next();
    if (!next) return -1;
    constexpr Seconds kLongest{3600};
    return static_cast<int>(std::clamp(*next, kShortestFrame, kLongest).count() * 1000) + 1;
}

Status play(Replay& replay, View& view, int signals) {
    Seconds before = now();
    for (;;) {
        if (auto shown = show_frame(replay, view); !shown) return shown;
        pollfd ready[] = {{view.input_fd(), POLLIN, 0}, {signals, POLLIN, 0}};
        if (::poll(ready, std::size(ready), wait_of(replay)) < 0 && errno != EINTR) return system_error(errno, "poll");
        const Seconds after = now();
        replay.advance(after - before);
        before = after;
        if (ready[1].revents != 0 && take_signals(signals)) return Done{};
        if (ready[0].revents != 0 && view.on_input() == View::Wish::quit) return Done{};
        for (const ReplayCommand command : view.take_commands()) obey(replay, command);
    }
}

}  // namespace

Status replay_recording(const ReplayOptions& options) {
    const auto path = find_recording(options.recording, options.directory);
    if (!path) return path.error();
    auto recording = Recording::open(*path);
    if (!recording) return recording.error();
    auto target = recording->target(named_target(*recording, options.target, options.recording));
    if (!target) return target.error();
    const double began = recording->began();
    auto replay = Replay::open(*std::move(recording), *std::move(target));
    if (!replay) return replay.error();
    replay->set_speed(options.speed);
    if (options.from) {
        const auto from =
            parse_moment(*options.from, static_cast<double>(std::time(nullptr)), began + replay->length().count());
        if (!from) return about("--from", from.error());
        replay->move_to(Seconds(*from - began));
    }
    const auto signals = open_signals({SIGINT, SIGTERM, SIGHUP, SIGWINCH});
    if (!signals) return signals.error();
    auto view = View::open([&replay](const std::string&, const GrowthRequest&) { return replay->growth(); });
    if (!view)
        return Error{view.error().code, "replay: " + view.error().where,
                     "it needs a terminal; memscope report and memscope export do not"};
    return play(*replay, *view, signals->get());
}

}  // namespace memscope
