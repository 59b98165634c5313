#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/snapshot.h"
#include "view/history.h"
#include "view/screen.h"
#include "view/state.h"
#include "view/terminal.h"

namespace memscope {

// What `memscope --cgroup NAME` shows on a terminal. The loop tells it what happens; it never waits and reads no clock.
class View {
  public:
    static Result<View> open();  // Error: no terminal to speak of

    int input_fd() const { return terminal_->input_fd(); }  // readable when keys wait
    void update(SnapshotPtr snapshot);                      // a new tick: redraw
    enum class Wish { none, quit };
    Wish on_input();                     // takes the keys that wait, redraws if they changed something
    void resized() { redraw(); }         // after SIGWINCH; without it the next tick sees the new size
    void note(const std::string& line);  // a notice, shown for a while from the next tick on

  private:
    explicit View(std::unique_ptr<view::Terminal> terminal) : terminal_(std::move(terminal)) {}
    void settle();
    void redraw();

    std::unique_ptr<view::Terminal> terminal_;
    view::State state_{};
    view::History history_{};
    SnapshotPtr snapshot_{std::make_shared<const Snapshot>()};
    view::Scene scene_{};
    std::vector<std::string> new_notes_{};
};

}  // namespace memscope
