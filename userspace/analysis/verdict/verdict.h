#pragma once
#include <vector>

#include "model/judgement.h"
#include "model/series.h"

namespace memscope {

// Evidence that does not come from the curve.
struct Evidence {
    // Factor on the rise that is needed for the verdict `leaking`. Above 1: there is evidence against a leak (the
    // growth comes from other lines each time). Below 1: there is evidence for a leak.
    double bar = 1;
    // The times at which the trainer was replaced in the process tree, on the clock of the series. `nullopt`: the tree
    // is not known (a recorded file), so restarts are detected on the curve.
    std::optional<std::vector<Seconds>> restarts{};
    // The times at which the OOM killer killed a process of the job, on the same clock.
    std::vector<Seconds> oom_kills{};
};

struct JudgeSettings {
    Seconds warmup = std::chrono::minutes(20);  // growth since the start may last that long
    Evidence evidence{};
};

// A pure function: the same samples and settings give the same judgement, live, replayed or from a file.
Judgement judge(const Series& series, const JudgeSettings& settings = {});

}  // namespace memscope
