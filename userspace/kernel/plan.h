#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/facts.h"

namespace memscope {

// One hook of a signal and the program chosen for it; no program: this kernel has nothing for it.
struct Choice {
    std::string_view feature{};
    std::string_view hook{};
    std::string_view program{};  // empty: none
    std::string_view without{};  // what is missing to the user when there is none
    bool needed = false;         // the signal is of no use without this hook
};

using Plan = std::vector<Choice>;

// A pure function of the facts: a table, the first usable row of a hook wins.
Plan make_plan(const KernelFacts& facts);

// Empty: none.
std::string_view program_of(const Plan& plan, std::string_view feature, std::string_view hook);
std::vector<std::string_view> programs_of(const Plan& plan, std::string_view feature);

// Why watching cannot work here, the most helpful reason first; none: it can. Pure, so that every refusal a user
// may meet is tested without a kernel that refuses.
std::optional<Error> obstacle(const KernelFacts& facts, const Privileges& privileges, const Plan& plan);

}  // namespace memscope
