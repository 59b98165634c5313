#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>

#include "model/growth/growth.h"
#include "model/snapshot.h"

namespace memscope {

// Whether a job grows at the same lines again and again, as a leak does, or at new ones each time, as one does that
// comes to parts of itself it has not run before. Lines are looked at now and then; a look in which little grew says
// nothing, so that a step at each validation counts as much as steady growth.
class LineHistory {
  public:
    explicit LineHistory(Seconds every) : every_(every) {}

    bool is_due(Seconds now) const { return now - looked_ >= every_; }
    void look_at(Seconds now, std::span<const LineGrowth> lines);
    // The lines of the next look are those of another run of the job, which may be at a line with less than before.
    void run_began() { run_began_ = true; }

    void forget(const RoleKey& role) { roles_.erase(role); }

    // Of a role, or of all. None where there were too few looks, or what one line took another gave back.
    std::optional<GrowingLines> growing(const std::optional<RoleKey>& role) const;

  private:
    struct Key {
        RoleKey role{};
        std::string place{};
        auto operator<=>(const Key&) const = default;
    };
    struct Line {
        std::int64_t bytes = 0;  // at the last look
        double recent = 0;       // grown lately: what is long ago counts less and less
        int times = 0;           // looks in which it grew
    };
    // The same for the lines of one role together, and of all.
    struct Sum {
        double recent = 0;
        double repeated = 0;  // that part of it that grew at lines which had grown before
        double given_back = 0;
        int looks = 0;  // in which something grew
    };
    void add(Sum& sum, double grown, double repeated, double given_back);

    Seconds every_;
    Seconds looked_{-1e9};
    bool first_ = true;
    bool run_began_ = false;  // since the last look
    std::map<Key, Line> lines_{};
    std::map<RoleKey, Sum> roles_{};
    Sum all_{};
};

// The same lines again and again speak against a job, new ones each time for it. Many jobs do neither.
inline bool at_same_lines(const GrowingLines& lines) { return lines.repeated >= 0.8; }
inline bool at_new_lines(const GrowingLines& lines) { return lines.repeated <= 0.2; }

}  // namespace memscope
