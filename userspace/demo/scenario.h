#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/roles/role_rules.h"
#include "demo/curves.h"
#include "demo/observation.h"

namespace memscope {

// A process that plays a part: what it is called, what it holds, whom it starts. Its arguments stay ours, so that
// everyone sees what it really is: "python: memscope demo leak".
struct Actor {
    std::string comm{};
    Role role = Role::other;
    Curve holds = constant({});
    Bytes dataset{};                // built before its children are forked: they share it
    Curve rewrites = constant({});  // how much of its parent's dataset it has written to
    std::vector<Actor> children{};
};

// What the watcher's numbers say at the end. `seen`: they show what the scenario is meant to show.
struct Answer {
    bool seen = false;
    std::string text{};
};

// A small training-shaped job with a known answer. Times are on the scenario's clock, which ends at kScenarioLength.
struct Scenario {
    std::string_view name{};
    std::string_view story{};  // one sentence, told at the start
    Bytes limit{};             // of the cgroup
    Actor top{};
    Verdict verdict = Verdict::leaking;  // the right one, at the end
    Answer (*answer)(const Observation&) = nullptr;
};
constexpr Seconds kScenarioLength{52};
constexpr Seconds kScenarioWarmup{24};  // what --warmup is to a real job

const std::vector<Scenario>& scenarios();  // the first is what a newcomer sees
const Scenario* find_scenario(std::string_view name);
std::string scenario_names();  // "leak, warmup, ..."

std::size_t count_actors(const Actor& top);
std::vector<RoleRule> role_rules_of(const Actor& top);  // by comm; each once

}  // namespace memscope
