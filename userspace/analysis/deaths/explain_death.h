#pragma once
#include <string>

#include "model/deaths/death.h"

namespace memscope {

// One sentence on what happened, for a person: safe to print whatever the names hold.
std::string explain_death(const Death& death);

// "SIGKILL", "signal 35"
std::string signal_name(int number);

}  // namespace memscope
