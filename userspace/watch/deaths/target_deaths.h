#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "model/snapshot.h"

namespace memscope {

// The deaths of one target: those that no tick has shown yet, and the sums of all.
class TargetDeaths {
  public:
    void add(Death death) {
        tally_.add(death);
        if (death.news) last_news_ = death;
        since_tick_.push_back(std::move(death));
    }
    // Moves the deaths since the last call into `out`, and copies the sums.
    void hand_over(TargetSnapshot& out) {
        out.deaths = std::exchange(since_tick_, {});
        out.death_tally = tally_;
        out.last_death = last_news_;
    }

  private:
    std::vector<Death> since_tick_{};
    DeathTally tally_{};
    std::optional<Death> last_news_{};  // the latest death that was not teardown
};

}  // namespace memscope
