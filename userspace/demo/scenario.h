#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/roles/role_rules.h"
#include "demo/curves.h"
#include "demo/observation.h"

namespace memscope {

// The job of a scenario as Python programs. Names of files are those of userspace/demo/jobs.
struct DemoJob {
    std::string_view script{};                // written as train.py
    std::string_view with_torch{};            // used instead if PyTorch can be imported; empty: there is none
    std::string_view launcher = "launch.sh";  // the script that starts train.py ...
    std::string_view called = "launch.sh";    // ... and the name under which it is written
    std::size_t workers = 2;
};

// A native process that simulates a process of the job if there is no Python: its name, its memory over time and its
// children. The process keeps the arguments of memscope, so that users can see that it is a demo: "python: memscope
// demo leak".
struct Actor {
    std::string comm{};
    Role role = Role::other;
    Curve holds = constant({});
    Bytes dataset{};                // allocated before the children are forked, so that they share it
    Curve rewrites = constant({});  // bytes of its parent's dataset that it has written to
    Curve mallocs = constant({});   // taken from malloc, see FragmentedHeap
    bool restarts = false;          // forks a child again after its death; the curves of the child begin again
    std::vector<Actor> children{};
};

// The answer from the figures of the watcher. `seen`: the figures show the expected behaviour of the scenario.
struct Answer {
    bool seen = false;
    std::string text{};
};

constexpr Seconds kScenarioLength{52};
constexpr Seconds kScenarioWarmup{24};
constexpr Bytes kUsualInterpreter{128ULL << 20};  // anonymous memory of a Python that has imported PyTorch

// A small training-shaped job with a known answer. Times are on the scenario's clock, which ends at kScenarioLength.
struct Scenario {
    std::string_view name{};
    std::string_view story{};  // one sentence, printed at the start
    Bytes limit{};             // of the cgroup; has room for kUsualInterpreter
    bool is_killed = false;    // the job reaches its limit and is killed, again and again
    DemoJob job{};
    Actor top{};                         // simulates the job if there is no Python
    Seconds warmup = kScenarioWarmup;    // the --warmup of the watcher
    Verdict verdict = Verdict::leaking;  // the expected verdict at the end
    Answer (*answer)(const Observation&) = nullptr;
};

const std::vector<Scenario>& scenarios();  // the first one is the default
const Scenario* find_scenario(std::string_view name);
std::string scenario_names();  // "leak, warmup, ..."

std::size_t count_actors(const Actor& top);
std::vector<RoleRule> role_rules_of(const Actor& top);  // one rule per comm

}  // namespace memscope
