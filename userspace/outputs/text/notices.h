#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/memory.h"
#include "model/snapshot.h"

namespace memscope {

// Says when the memory below a limit passes 50, 75, 90 or 95 % of it, and when it is below 90 % again. A size that
// wavers around a mark would make a line at each tick, so a mark is told once: it has to be left by 5 points of
// percent, or for a minute, before its relief is told, and it has to be left by 5 points, or held for a minute, before
// it is told again.
class LimitMarks {
  public:
    // The lines for this tick. `time`: seconds since 1970.
    std::vector<std::string> tell(double time, const MemoryState& memory);

  private:
    struct Marks {
        int told = 0;                         // the highest mark that was told and not left since
        int relieved = 0;                     // a mark whose relief was told because of the time alone
        std::optional<double> below_since{};  // `told` is not reached since then
        std::optional<double> above_since{};  // `relieved` is reached again since then
    };
    static std::optional<std::string> rise(double time, const EffectiveLimit& limit, const MemoryState& memory,
                                           Marks& marks);
    static std::optional<std::string> relief(double time, const EffectiveLimit& limit, Marks& marks);

    // By owner: which limit has the least headroom may alternate, and each is filled to another share.
    std::map<std::string, Marks> limits_{};
};

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
