#pragma once
#include <string>

#include "model/death_report.h"

namespace memscope {

// Raised when a reader of the one before would read it wrong; new fields alone do not.
inline constexpr int kDeathReportVersion = 1;

// The whole report: one line of JSON without a newline at its end, always valid UTF-8. docs/reports.md has the fields.
std::string death_report_json(const DeathReport& report);

}  // namespace memscope
