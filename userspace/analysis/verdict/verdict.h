#pragma once
#include <vector>

#include "model/judgement.h"
#include "model/series.h"

namespace memscope {

// What is known from elsewhere than the curve.
struct Evidence {
    // What a rise must be worth before it is called a leak, as a multiple of the usual: above 1 where something speaks
    // for the job (its growth sites are new lines each time), below 1 where something speaks against it.
    double bar = 1;
    // When the process tree says that the trainer was replaced, on the clock of the series. None: nobody knows the
    // tree (a recorded file), and the curve decides what a restart was.
    std::optional<std::vector<Seconds>> restarts{};
};

struct JudgeSettings {
    Seconds warmup = std::chrono::minutes(20);  // growth since the start may last that long
    Evidence evidence{};
};

// A pure function: the same samples and settings give the same judgement, live, replayed or from a file.
Judgement judge(const Series& series, const JudgeSettings& settings = {});

}  // namespace memscope
