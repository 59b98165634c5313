#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>

#include "base/units.h"
#include "model/growth/growth.h"
#include "model/snapshot.h"

namespace memscope {

// Decides whether a job grows at the same lines again and again, as a leak does, or at new lines each time, as a job
// does that runs parts of its code for the first time. Lines are compared at intervals. An interval with little growth
// is ignored, so a step at each validation counts as much as steady growth.
class LineHistory {
  public:
    explicit LineHistory(Seconds every) : every_(every) {}

    bool is_due(Seconds now) const { return now - last_ >= every_; }
    void update(Seconds now, std::span<const LineGrowth> lines);
    // Call this when the job has begun another run. The next lines are those of that run, so a line may have less
    // growth than before.
    void run_began() { run_began_ = true; }

    void forget(const RoleKey& role) { roles_.erase(role); }

    // The growing lines of a role or of all roles. None after too few intervals, or if lines freed most of what others
    // added. Names the line that keeps most of the growth. If no line is known to keep half of it, names the line that
    // touched most of it first.
    std::optional<GrowingLines> growing(const std::optional<RoleKey>& role) const;

  private:
    struct Key {
        RoleKey role{};
        std::string place{};
        auto operator<=>(const Key&) const = default;
    };
    struct Line {
        std::int64_t bytes = 0;  // at the last interval
        std::int64_t kept = 0;   // bytes that the line kept at the last interval
        double recent = 0;       // recent growth; older growth counts less and less
        double recently_kept = 0;
        int times = 0;  // intervals in which it grew
    };
    // Sums over the lines of one role, or over the lines of all roles.
    struct Sum {
        double recent = 0;
        double repeated = 0;  // the part of `recent` at lines that had grown before
        double given_back = 0;
        int intervals = 0;  // intervals with growth
    };
    void add(Sum& sum, double grown, double repeated, double given_back);

    Seconds every_;
    Seconds last_{-1e9};
    bool first_ = true;
    bool run_began_ = false;  // since the last interval
    std::map<Key, Line> lines_{};
    std::map<RoleKey, Sum> roles_{};
    Sum all_{};
};

// Names the line that keeps most of what grew since watching began, in the minutes before LineHistory has seen enough.
// It does not show whether the growth continues.
class EarlyLines {
  public:
    explicit EarlyLines(Seconds every) : every_(every) {}

    bool is_due(Seconds now) const { return !ended_ && now - last_ >= every_; }
    void update(Seconds now, std::span<const LineGrowth> lines);
    void end() { ended_ = true; }  // LineHistory knows the growing lines by now, or there is a verdict
    bool is_ended() const { return ended_; }

    // "validate (train.py:35) keeps at least 23 MiB more than when watching began." "At least", because the recording
    // of tensors can have paused. Empty if no line keeps half of what lines are known to keep. Printable.
    const std::string& text() const { return text_; }

  private:
    Seconds every_;
    Seconds last_{-1e9};
    bool ended_ = false;
    std::string text_{};
};

// Growth at the same lines again and again is evidence for a leak, growth at new lines is evidence against it. Many
// jobs show neither.
inline bool at_same_lines(const GrowingLines& lines) { return lines.repeated >= 0.8; }
inline bool at_new_lines(const GrowingLines& lines) { return lines.repeated <= 0.2; }

}  // namespace memscope
