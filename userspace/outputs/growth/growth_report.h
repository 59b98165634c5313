#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "model/growth/growth.h"
#include "model/snapshot.h"

namespace memscope {

// Growth of a target, made when somebody asks, on the thread that asks. Nullopt: there is no such target. An empty
// function: nobody follows growth.
using GrowthSource = std::function<std::optional<Growth>(const std::string& target)>;

inline constexpr const char* kGrowthNotFollowed =
    "growth is not followed: this watcher runs without its kernel part, memscope doctor says what is missing";

// What every format renders: growth, whose it is, and how much of it is wanted.
struct GrowthReport {
    double time = 0;  // of the last tick; seconds since 1970
    TargetInfo target{};
    Growth growth{};
    std::optional<std::size_t> top{};  // sites of each plane
};

// The sites of a plane that are shown. All others are summed, so that no format drops them silently.
struct ShownSites {
    std::span<const GrowthSite> sites{};
    std::size_t left_out = 0;
    std::int64_t left_out_bytes = 0;
};

// At most `top` of them; also fewer where their names take more memory than an answer may have.
ShownSites shown_sites(const GrowthPlane& plane, std::optional<std::size_t> top);

// Sums of what comes from outside stay in range.
std::int64_t add_bytes(std::int64_t a, std::int64_t b);

}  // namespace memscope
