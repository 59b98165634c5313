#pragma once
#include <map>
#include <string>

#include "analysis/judge.h"
#include "model/memory.h"

namespace memscope {

// Which limit comes first: that of the target, of an ancestor or of the host. What is held below an ancestor's limit
// and on the host grows by siblings, too, so each has a series of its own.
class Limits {
  public:
    explicit Limits(Seconds warmup) : warmup_(warmup) {}

    void add(Seconds now, const std::vector<LimitCandidate>& candidates);

    struct First {
        EffectiveLimit limit{};
        std::optional<Forecast> forecast{};
    };
    // `own`: what is judged of the target itself. Where no limit is foreseen to be reached, the nearest comes first.
    std::optional<First> first(const Judgement& own, const std::vector<LimitCandidate>& candidates) const;

  private:
    Seconds warmup_;
    std::map<std::string, Judge> judges_{};  // by owner, without the target itself
};

}  // namespace memscope
