#pragma once
#include <string>
#include <vector>

#include "model/deaths/death_report.h"

namespace memscope {

// The part about OOM kills: by whose limit it was, and by what the series looked like.
std::vector<std::string> advice_for_oom_kill(const DeathReport& report, const std::string& top_site);

// What to do about a death: one to four sentences, the most useful first. `top_site`: the call site that grew most, as
// people read it; empty where none is known. A line is named as a suspect only where the series is called leaking;
// everybody else is named with what they held, not with a blame.
std::vector<std::string> advice_for(const DeathReport& report, const std::string& top_site);

}  // namespace memscope
