#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/units.h"
#include "model/process.h"

namespace memscope {

// Copies that the forked processes of a role have made of pages they shared with their parent.
struct Unshared {
    Bytes bytes{};
    bool confirmed = true;        // by the private pages of every one of them, not by the sums alone
    std::uint64_t processes = 0;  // forked ones that live
};

// The kind of forked processes that has made most copies.
struct Copiers {
    Role role = Role::other;
    Role parent = Role::other;  // whose pages they are
    std::uint64_t processes = 0;
    bool confirmed = true;
};

// Each page once: for stacking.
struct RolePss {
    Bytes bytes{};
    Seconds age{};                // of the oldest number in it
    std::uint64_t processes = 0;  // that were read
};

// Who shares memory with whom in a target, and who no longer does.
struct Sharing {
    Bytes summed_anon{};                 // of its processes: a shared page stands in each of them
    std::optional<Bytes> cgroup_anon{};  // each page once; none where the cgroup is not the target's alone
    std::map<RoleKey, Unshared> unshared{};
    std::map<RoleKey, RolePss> pss{};
    std::optional<Copiers> copiers{};  // none: nobody has copied 1 MiB
    std::string explanation{};         // one sentence, once un-sharing matters; empty before
};

}  // namespace memscope
