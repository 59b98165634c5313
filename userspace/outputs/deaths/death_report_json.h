#pragma once
#include <string>
#include <string_view>

#include "model/deaths/death_report.h"

namespace memscope {

// Raised when a reader of the previous version would misread the report. New fields alone do not raise it.
inline constexpr int kDeathReportVersion = 1;

// The last key: the whole report as a record (record/record.h), in base64. `memscope report` shows the record, because
// the JSON has only the fields that scripts need.
inline constexpr std::string_view kRecordKey = "record";

// The whole report: one line of JSON without a newline at its end, always valid UTF-8. docs/reports.md has the fields.
std::string death_report_json(const DeathReport& report);

}  // namespace memscope
