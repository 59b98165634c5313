#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/snapshot.h"
#include "outputs/growth/growth_report.h"
#include "view/history.h"
#include "view/screen.h"
#include "view/state.h"
#include "view/terminal.h"

namespace memscope {

// The live view of `memscope --cgroup NAME` and of `memscope replay` on a terminal. It never blocks and reads no clock.
class View {
  public:
    // Error if there is no usable terminal. `growth` is called once per tick while the growth panel is shown.
    static Result<View> open(GrowthSource growth = {});

    int input_fd() const { return terminal_->input_fd(); }  // readable when keys were pressed
    void update(const SnapshotPtr& latest);                 // draws a new tick
    enum class Wish { none, quit };
    Wish on_input();                     // handles the pressed keys, redraws if they changed something
    void resized() { redraw(); }         // after SIGWINCH; without it the next tick sees the new size
    void note(const std::string& line);  // a notice, shown for a while from the next tick on

    // For a replay.
    void add_past(const SnapshotPtr& tick);  // a tick that is not drawn, for sparklines and rates
    void forget_past(double since);          // before a jump; time of the first tick, seconds since 1970
    void begin_curve(const std::string& target, view::TargetCurve curve);  // after forget_past(): the earlier curve
    void set_timeline(view::Timeline timeline) { state_.timeline = std::move(timeline); }  // without a redraw
    std::vector<view::ReplayCommand> take_commands() { return std::exchange(state_.commands, {}); }

  private:
    View(std::unique_ptr<view::Terminal> terminal, GrowthSource growth)
        : terminal_(std::move(terminal)), growth_source_(std::move(growth)) {}
    void ask_for_growth();
    void settle();
    void redraw();

    std::unique_ptr<view::Terminal> terminal_;
    view::State state_{};
    view::History history_{};
    SnapshotPtr snapshot_{std::make_shared<const Snapshot>()};
    view::Scene scene_{};
    GrowthSource growth_source_;
    std::optional<Growth> growth_{};  // of growth_target_, while its panel is shown
    std::string growth_target_{};
    GrowthRequest growth_request_{};
    std::vector<std::string> new_notes_{};
};

}  // namespace memscope
