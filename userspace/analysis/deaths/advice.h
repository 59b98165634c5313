#pragma once
#include <string>
#include <vector>

#include "model/deaths/death_report.h"

namespace memscope {

// Advice for OOM kills, from the owner of the limit and the verdict of the series.
std::vector<std::string> advice_for_oom_kill(const DeathReport& report, const std::string& top_site);

// Advice about a death: one to four sentences, the most useful first. `top_site`: the line that keeps most of what
// grew, as text for the user; empty if it is not known. A line is named as a suspect only if the verdict is leaking.
// Other processes are named with the memory that they held, without blame.
std::vector<std::string> advice_for(const DeathReport& report, const std::string& top_site);

}  // namespace memscope
