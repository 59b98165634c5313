#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/memory.h"
#include "model/snapshot.h"

namespace memscope {

// Makes a line when the memory below a limit passes 50, 75, 90 or 95 % of it, and when it is below 90 % again. A size
// that varies around a mark would make a line at each tick, so there is hysteresis. The line for falling below a mark
// follows after 5 percentage points, or after a minute below the mark. The line for reaching it again follows only if
// the size had fallen by 5 percentage points, or after a minute above the mark.
class LimitMarks {
  public:
    // The lines for this tick. `time`: seconds since 1970.
    std::vector<std::string> lines_at(double time, const MemoryState& memory);

  private:
    struct Marks {
        int reported = 0;                     // the highest mark that had a line and was not left since
        int relieved = 0;                     // a mark that was left after a minute, not by 5 percentage points
        std::optional<double> below_since{};  // time since which the size is below `reported`
        std::optional<double> above_since{};  // time since which the size is above `relieved` again
    };
    static std::optional<std::string> rise(double time, const EffectiveLimit& limit, const MemoryState& memory,
                                           Marks& marks);
    static std::optional<std::string> relief(double time, const EffectiveLimit& limit, Marks& marks);

    // By owner, because the limit with the least headroom may alternate, and each limit is filled to another share.
    std::map<std::string, Marks> limits_{};
};

// One plain line per important event between two ticks. Printed if standard output is not a terminal. Each line begins
// with the name of the target.
class NoticeWriter {
  public:
    // `before` is the previous tick; null at the first tick.
    std::vector<std::string> write(const Snapshot* before, const Snapshot& now);

  private:
    void free_memory(const TargetSnapshot& now, std::vector<std::string>& lines);
    void holders(const TargetSnapshot& now, std::vector<std::string>& lines);
    std::vector<std::string> target_lines(double time, const TargetSnapshot* before, const TargetSnapshot& now);
    void keep_unread(const Snapshot* before, const Snapshot& now);

    std::map<std::string, LimitMarks> marks_{};  // by name of the target, while it is up
    std::set<std::string> free_memory_{};        // leaking targets whose line has named free memory as the cause
    std::set<std::string> holders_{};            // leaking targets whose line has named the holders
    // Targets that could not be read at this tick, as they were at the last tick that could read them. The next tick
    // that can read them is compared with that one.
    std::map<std::string, TargetSnapshot> unread_{};
};

// One line when file descriptors run out and one when there are enough again, no matter how many targets are refused in
// between. Without the prefix "memscope: ". `before`: the previous tick; null at the first tick.
std::vector<std::string> unwatched_targets(const SelfSample* before, const SelfSample& now);

// The line for a missing target. memscope cannot distinguish a mistyped name from a cgroup that does not exist yet.
std::string waiting_notice(const std::vector<std::string>& names);

}  // namespace memscope
