#pragma once
#include <string>
#include <vector>

#include "model/deaths/death_report.h"

namespace memscope {

// Advice for OOM kills, from the owner of the limit and the verdict of the series.
std::vector<std::string> advice_for_oom_kill(const DeathReport& report, const std::string& top_site);

// Advice about a death: one to four sentences, the most useful first. `top_site`: the line that keeps most of the
// growth, as text for the user; empty if it is not known. A line is named as a suspect only if the verdict is leaking.
// Other processes are named with the memory that they held, without blame.
std::vector<std::string> advice_for(const DeathReport& report, const std::string& top_site);

// Advice about a run without a reported death, if it leaked or came close to its limit (`was_close`: it had a
// precursor). Empty if there is nothing to do. `target` and `now` (seconds since 1970) are of its last tick.
// `growth_known`: growth was followed, even if no line is known to keep it.
std::vector<std::string> advice_for_run(const TargetSnapshot& target, double now, const std::string& top_site,
                                        bool growth_known, bool was_close);

}  // namespace memscope
