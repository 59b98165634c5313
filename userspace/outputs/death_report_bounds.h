#pragma once
#include "model/death_report.h"

namespace memscope {

// What a report has room for, so that it stays below 2 MiB whatever the watched processes call themselves and their
// code.
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

// Cuts every list and every name that is chosen by others, and counts what is left out. The largest stay; the decisive
// death and the parents of large processes do, too.
void keep_within_bounds(DeathReport& report);

}  // namespace memscope
