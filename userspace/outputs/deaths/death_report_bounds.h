#pragma once
#include <cstddef>

#include "model/deaths/death_report.h"

namespace memscope {

// Bounds that keep a report below 3 MiB, because watched processes choose their own names and those of their code.
struct DeathReportBounds {
    static constexpr std::size_t kDeaths = 50;
    static constexpr std::size_t kProcesses = 200;
    static constexpr std::size_t kCommandBytes = 256;
    static constexpr std::size_t kRoles = 100;
    static constexpr std::size_t kSites = 10;  // of each plane
    static constexpr std::size_t kPythonFrames = 16;
    static constexpr std::size_t kNativeFrames = 8;
    static constexpr std::size_t kNameBytes = 200;
    static constexpr std::size_t kEvents = 64;
};

// Cuts every list and every name that watched processes choose, and counts what is left out. The report keeps the
// largest entries, the decisive death and the parents of large processes.
void keep_within_bounds(DeathReport& report);

}  // namespace memscope
