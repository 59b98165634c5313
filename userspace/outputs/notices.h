#pragma once
#include <map>
#include <string>
#include <vector>

#include "model/snapshot.h"
#include "outputs/limit_marks.h"

namespace memscope {

// One plain line per event that matters between two ticks: what is printed where there is no terminal. Each begins with
// the target's name.
class NoticeWriter {
  public:
    // `before` is the tick that was given last; null at the first one.
    std::vector<std::string> write(const Snapshot* before, const Snapshot& now);

  private:
    std::vector<std::string> target_lines(double time, const TargetSnapshot* before, const TargetSnapshot& now);

    std::map<std::string, LimitMarks> marks_{};  // by name of the target, while it is up
};

// A line when file descriptors run out and one when they suffice again, however often targets are refused in between.
// Without "memscope: ". `before`: of the tick before; null at the first one.
std::vector<std::string> unwatched_targets(const SelfSample* before, const SelfSample& now);

// Where there is no target yet. A name that was mistyped looks the same as one that is not there yet.
std::string waiting_notice(const std::vector<std::string>& names);

}  // namespace memscope
