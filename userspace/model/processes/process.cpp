#include "model/processes/process.h"

namespace memscope {

std::string_view name_of(Role role) {
    switch (role) {
        case Role::launcher:
            return "launcher";
        case Role::trainer:
            return "trainer";
        case Role::dataloader_worker:
            return "dataloader_worker";
        case Role::compile_worker:
            return "compile_worker";
        case Role::helper:
            return "helper";
        case Role::other:
            return "other";
    }
    return "other";
}

std::optional<Role> role_named(std::string_view name) {
    for (const Role role : kRoles)
        if (name_of(role) == name) return role;
    return std::nullopt;
}

}  // namespace memscope
