#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "analysis/growth/attribution.h"
#include "model/growth/growth.h"
#include "model/growth/growth_request.h"
#include "model/snapshot.h"

namespace memscope {

// Computes the growth of a target on request, on the calling thread. Nullopt: there is no such target. An empty
// function: growth is not recorded.
using GrowthSource = std::function<std::optional<Growth>(const std::string& target, const GrowthRequest& request)>;

inline constexpr const char* kGrowthNotRecorded =
    "growth is not recorded: this watcher runs without its BPF programs, memscope doctor says what is missing";

// The input of every output format.
struct GrowthReport {
    double time = 0;  // time of the last tick; seconds since 1970
    TargetInfo target{};
    Growth growth{};
    std::optional<std::size_t> top{};  // most sites to show of each plane; nullopt: all
    bool stacks = false;               // text: a row for each stack, not for each own line
};

// The sites of a plane that are shown. All others are summed, so that no format drops them silently.
struct ShownSites {
    std::span<const GrowthSite> sites{};
    std::size_t left_out = 0;
    std::int64_t left_out_bytes = 0;
};

// At most `top` sites; fewer if their names exceed the size bound of an answer.
ShownSites shown_sites(const GrowthPlane& plane, std::optional<std::size_t> top);

}  // namespace memscope
