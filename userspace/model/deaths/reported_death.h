#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "model/snapshot.h"

namespace memscope {

// Processes of one target that died as one event, the decisive one first, and the file with their report.
struct ReportedDeath {
    TargetInfo target{};
    std::vector<Death> deaths{};
    std::uint64_t left_out = 0;  // deaths of the same event that are not in `deaths`
    std::string file{};          // path of the death report; empty: none was written
};

}  // namespace memscope
