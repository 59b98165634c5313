#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/facts.h"

namespace memscope {

// One hook of a feature and the program chosen for it.
struct Choice {
    std::string_view feature{};
    std::string_view hook{};
    std::string_view program{};  // empty: none of the programs works on this kernel
    std::string_view without{};  // what the user misses if there is no program
    bool needed = false;         // the feature is useless without this hook
};

using Plan = std::vector<Choice>;

// A pure function of the facts. For each hook, the first usable row of a table is chosen.
Plan make_plan(const KernelFacts& facts);

// Empty if there is no program for the hook.
std::string_view program_of(const Plan& plan, std::string_view feature, std::string_view hook);
std::vector<std::string_view> programs_of(const Plan& plan, std::string_view feature);

// The reason why watching cannot work on this kernel, `nullopt` if it can. If there are several reasons, the most
// helpful one. A pure function, so that each reason can be tested without such a kernel.
std::optional<Error> obstacle(const KernelFacts& facts, const Privileges& privileges, const Plan& plan);

}  // namespace memscope
