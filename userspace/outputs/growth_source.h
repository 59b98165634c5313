#pragma once
#include <functional>
#include <optional>
#include <string>

#include "model/growth.h"

namespace memscope {

// Growth of a target, made when somebody asks, on the thread that asks. Nullopt: there is no such target. An empty
// function: nobody follows growth.
using GrowthSource = std::function<std::optional<Growth>(const std::string& target)>;

inline constexpr const char* kGrowthNotFollowed =
    "growth is not followed: this watcher runs without its kernel part, memscope doctor says what is missing";

}  // namespace memscope
