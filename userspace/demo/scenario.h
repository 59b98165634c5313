#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/roles/role_rules.h"
#include "demo/curves.h"
#include "demo/observation.h"

namespace memscope {

// A process of a scenario: its name, its memory over time and its children. It keeps the arguments of memscope, so that
// users can see that it is a demo: "python: memscope demo leak".
struct Actor {
    std::string comm{};
    Role role = Role::other;
    Curve holds = constant({});
    Bytes dataset{};                // allocated before the children are forked, so that they share it
    Curve rewrites = constant({});  // how much of its parent's dataset it has written to
    Curve mallocs = constant({});   // taken from malloc, see FragmentedHeap
    bool in_python = false;         // `holds` is a list of a Python program, if the machine has Python
    std::vector<Actor> children{};
};

// The answer from the figures of the watcher. `seen`: they show what the scenario is meant to show.
struct Answer {
    bool seen = false;
    std::string text{};
};

// A small training-shaped job with a known answer. Times are on the scenario's clock, which ends at kScenarioLength.
struct Scenario {
    std::string_view name{};
    std::string_view story{};  // one sentence, printed at the start
    Bytes limit{};             // of the cgroup
    Actor top{};
    Verdict verdict = Verdict::leaking;  // the expected verdict at the end
    Answer (*answer)(const Observation&) = nullptr;
};
constexpr Seconds kScenarioLength{52};
constexpr Seconds kScenarioWarmup{24};  // the --warmup of the scenario

const std::vector<Scenario>& scenarios();  // the first one is the default
const Scenario* find_scenario(std::string_view name);
std::string scenario_names();  // "leak, warmup, ..."

std::size_t count_actors(const Actor& top);
bool has_python_actor(const Actor& top);
std::vector<RoleRule> role_rules_of(const Actor& top);  // one rule per comm

}  // namespace memscope
