#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "outputs/text/curve.h"
#include "recording/recording.h"

namespace memscope {

// Plays a recording: decides which tick is shown, and when the next tick follows. It reads no clock: advance() gets the
// time that has passed.
class Replay {
  public:
    static constexpr double kSlowest = 1.0 / 8;
    static constexpr double kFastest = 4096;
    // Number of ticks before the shown one that a frame has after a jump (up to kAligned more). The live view draws
    // this many ticks.
    static constexpr std::size_t kPast = 120;
    // The number of the first past tick is a multiple of this, because a sparkline merges ticks by their number.
    static constexpr std::size_t kAligned = 60;

    // Begins at the first tick, playing. An error if the recording has no tick of the target.
    static Result<Replay> open(Recording recording, RecordedTarget target);

    const RecordedTarget& target() const { return target_; }
    const std::vector<RecordedEvent>& events() const { return events_; }
    double first_time() const { return ticks_.front().time; }  // of the first tick, seconds since 1970
    double time() const { return ticks_[index_].time; }        // of the tick, seconds since 1970
    Seconds position() const { return ticks_[index_].at; }     // of the tick, since the recording began
    Seconds length() const { return ticks_.back().at; }        // of the recording
    bool at_end() const { return index_ + 1 == ticks_.size(); }
    double speed() const { return speed_; }
    bool paused() const { return paused_; }

    void pause(bool paused);
    void set_speed(double speed);
    // Time passes. Pauses at the last tick.
    void advance(Seconds passed);
    // Time until the next tick is shown. None: the replay is paused or at its end.
    std::optional<Seconds> until_next() const;
    void move_to(Seconds position);
    void move_by(std::ptrdiff_t ticks);
    // These two move to an event for which is_notable() is true. They do nothing if there is no such event.
    void to_next_event();
    void to_previous_event();

    // The ticks to draw since the last call. No ticks: nothing is new. After a jump, `ticks` also has the ticks before
    // the shown one, and everything that was drawn before the jump must be dropped.
    struct Frame {
        bool jumped = false;
        std::vector<SnapshotPtr> ticks{};  // oldest first; the last one is shown
        std::vector<std::string> notes{};  // lines that memscope printed at that time
        // After a jump: judged memory before the first of `ticks`, since the recording began, and the times of deaths.
        std::vector<CurvePoint> earlier{};
        std::vector<double> earlier_deaths{};
    };
    Result<Frame> take_frame();
    // The last growth that was recorded at or before the shown tick.
    std::optional<Growth> growth();

  private:
    Replay(Recording recording, RecordedTarget target) : recording_(std::move(recording)), target_(std::move(target)) {}
    Status read_index();
    Result<std::vector<SnapshotPtr>> read_ticks(std::size_t first);  // from `first` to index_
    Status read_earlier(Frame& frame);
    void move_clock(Seconds clock);

    Recording recording_;
    RecordedTarget target_;
    std::vector<RecordedMoment> ticks_{};
    std::vector<RecordedEvent> events_{};
    Seconds clock_{};        // time in the recording; can be between two ticks
    std::size_t index_ = 0;  // the last tick at or before clock_
    std::optional<std::size_t> shown_{};
    bool jumped_ = true;
    double speed_ = 1;
    bool paused_ = false;
};

// True for events that change the state of the job: verdicts, precursors, actions, deaths.
bool is_notable(const RecordedEvent& event);

}  // namespace memscope
