#pragma once
#include <string>

#include "model/memory.h"

namespace memscope {

// "its own limit", "the host's memory", "the limit of jobs.slice"
std::string limit_name(const std::string& owner);
// "its own limit of 16 GiB", "the limit of jobs.slice (64 GiB)"
std::string limit_and_size(const EffectiveLimit& limit);

}  // namespace memscope
