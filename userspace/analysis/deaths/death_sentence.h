#pragma once
#include <string>

#include "model/deaths/death.h"

namespace memscope {

// One sentence about what happened, for the user. It is safe to print, even if the names contain control characters.
std::string death_sentence(const Death& death);

// "SIGKILL", "signal 35"
std::string signal_name(int number);

}  // namespace memscope
