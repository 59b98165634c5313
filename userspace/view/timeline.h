#pragma once
#include <string>
#include <vector>

#include "base/units.h"
#include "view/line.h"

namespace memscope::view {

// The time line of a replay: the moment that is shown, the speed, and marks for events.
struct Timeline {
    struct Mark {
        Seconds at{};  // since the recording began
        Style style = Style::plain;
    };
    std::string clock{};  // date and time of the moment that is shown
    Seconds position{};   // of that moment, since the recording began
    Seconds length{};     // of the recording
    double speed = 1;
    bool paused = false;
    std::vector<Mark> marks{};
};

// The command of a key in a replay.
enum class ReplayCommand {
    pause,
    back,  // 10 s
    forward,
    far_back,  // 10 min
    far_forward,
    tick_back,
    tick_forward,
    slower,
    faster,
    previous_event,
    next_event
};

Line timeline_line(const Timeline& timeline, std::size_t width);

}  // namespace memscope::view
