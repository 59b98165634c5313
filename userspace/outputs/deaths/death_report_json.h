#pragma once
#include <string>

#include "model/deaths/death_report.h"

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

// Raised when a reader of the one before would read it wrong; new fields alone do not.
inline constexpr int kDeathReportVersion = 1;

// The whole report: one line of JSON without a newline at its end, always valid UTF-8. docs/reports.md has the fields.
std::string death_report_json(const DeathReport& report);

}  // namespace memscope
