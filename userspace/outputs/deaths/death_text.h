#pragma once
#include <string>
#include <vector>

#include "model/deaths/death_report.h"

namespace memscope {

// A death for whoever finds it in a terminal or a journal the next morning: the plain line of the event, and below it
// who held what, how it had been judged and what to do, in at most 13 lines of 80 columns (a path may be longer).
// Printable. `file`: where all of it was written; empty: nowhere.
std::vector<std::string> death_block(const DeathReport& report, const std::string& file);

// Pieces of it that the whole story has, too.
std::string death_sentence(const Death& death);        // what happened, in one sentence
std::string held_sentence(const DeathReport& report);  // "47 GiB used, 41 GiB of it not reclaimable, of 64 GiB ..."
std::string verdict_sentence(const TargetSnapshot& target);
std::string time_of_day(double unix_seconds);    // "15:03:38"; UTC
std::string date_and_time(double unix_seconds);  // "2026-11-15 15:03:38 UTC"
// The line that grew most among those where memory was first touched, in at most `width` columns; empty: none is known.
std::string top_site_of(const DeathReport& report, std::size_t width);

// The whole report for a person: what happened in one sentence, when what came before it, who held what, what grew,
// what to do. At most 80 columns wide, printable whatever the report holds.
std::string death_story(const DeathReport& report, bool colour);

}  // namespace memscope
