#pragma once
#include <string>
#include <vector>

#include "model/deaths/death_report.h"

namespace memscope {

// A death as text for a terminal or a journal. The first line describes the event. Below it are the memory by role, the
// verdict before the death and what to do, in at most 13 lines of 80 columns (a path may be longer). Printable. `file`:
// path of the death report; empty: none was written.
std::vector<std::string> death_block(const DeathReport& report, const std::string& file);

// Parts that the block and death_story() share.
std::string death_text(const Death& death);      // what happened: its explanation as a sentence
std::string time_of_day(double unix_seconds);    // "15:03:38"; UTC
std::string date_and_time(double unix_seconds);  // "2026-11-15 15:03:38 UTC"
// The line of code that keeps most of the growth, in at most `width` columns; empty: it is not known.
std::string top_site_of(const DeathReport& report, std::size_t width);

// A series as a line of blocks with its lowest, highest and last size below. Empty without two points.
std::string curve_text(const std::vector<HeldPoint>& series);

// The whole report as text: what happened in one sentence, the timeline before it, the memory by role and process, what
// grew, what to do. At most 80 columns wide. Always printable, because a report file can contain anything.
std::string death_story(const DeathReport& report, bool colour);

}  // namespace memscope
