#pragma once
#include <string>

#include "model/death_report.h"

namespace memscope {

// The whole report for a person: what happened in one sentence, when what came before it, who held what, what grew,
// what to do. At most 80 columns wide, printable whatever the report holds.
std::string death_story(const DeathReport& report, bool colour);

}  // namespace memscope
