#pragma once
#include <optional>
#include <span>
#include <string>

#include "base/units.h"
#include "model/growth/growth.h"

namespace memscope {

// Names the line that keeps most of what grew since watching began, in the minutes before LineHistory has seen enough.
// Does not tell whether the growth goes on.
class EarlyLines {
  public:
    explicit EarlyLines(Seconds every) : every_(every) {}

    bool is_due(Seconds now) const { return !ended_ && now - last_ >= every_; }
    void look_at(Seconds now, std::span<const LineGrowth> lines);
    void end() { ended_ = true; }  // the lines are known better by now
    bool is_ended() const { return ended_; }

    // "validate (train.py:35) keeps at least 23 MiB more than when watching began." At least, because the recording of
    // tensors can have paused. Empty if no line keeps half of what lines
    // are known to keep. Printable.
    const std::string& text() const { return text_; }

  private:
    Seconds every_;
    Seconds last_{-1e9};
    bool ended_ = false;
    std::string text_{};
};

}  // namespace memscope
