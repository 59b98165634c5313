#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/processes/process.h"

namespace memscope {

// The program names of a process: the base name of argv[0] and, for an interpreter, the base name of its script or the
// name of its module. `python3 /venv/bin/torchrun train.py` is "python3" and "torchrun", and `python -m
// torch.distributed.run` is "python" and "torch.distributed.run". If argv is not known (it can be unreadable, or
// empty), the process name is used.
std::vector<std::string_view> program_names(std::string_view comm, const std::vector<std::string>& argv);

// A rule matches if all its given conditions hold. The first rule that matches decides.
struct RoleRule {
    Role role = Role::other;
    std::string comm{};      // glob on the process name; "" = any
    std::string program{};   // glob on a name of the program, see program_names(); "" = any
    std::string argument{};  // glob on any one argument, argv[0] included; "" = any
    std::optional<Role> parent{};
    std::optional<bool> forked_without_exec{};
    std::optional<bool> own_memory{};  // false: it runs in the address space of another process, as after vfork
    std::optional<bool> gpu_context{};
};

// The facts about one process that rules check.
struct RoleFacts {
    std::string_view comm;
    const std::vector<std::string>& argv;
    bool forked_without_exec = false;
    bool own_memory = true;
    bool gpu_context = false;
    std::optional<Role> parent_role{};
};

const std::vector<RoleRule>& builtin_role_rules();
Role decide_role(const RoleFacts& facts, std::span<const RoleRule> rules);  // `other` if no rule matches

}  // namespace memscope
