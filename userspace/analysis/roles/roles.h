#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/roles/role_rules.h"
#include "model/processes/process.h"

namespace memscope {

// Remembers what was decided for each process, and decides again only when what it was decided from has changed.
class RoleBook {
  public:
    explicit RoleBook(std::vector<RoleRule> user_rules = {});  // they come before the built-in ones

    struct Subject {
        ProcessId id{};
        pid_t parent = 0;
        std::string_view comm{};
        const std::vector<std::string>* argv = nullptr;  // null or empty: not known
        std::optional<int> rank{};                       // its own
        bool forked_without_exec = false;
        std::optional<bool> own_memory = true;  // none: nothing has looked yet; taken as true until then
        bool gpu_context = false;               // on a GPU, or was; never taken back but by exec
        std::optional<int> gpu_index{};         // of that GPU, if it is one alone
        std::uint32_t exec_count = 0;
    };

    // The roles and ranks of all, in their order. Parents are decided before their children, however they are
    // sorted; a missing parent or a cycle costs only what would have followed from it. A rank is the process's own,
    // else for a trainer the index of its GPU, else that of its nearest ancestor that has one. Processes that are not
    // among the subjects are forgotten.
    std::vector<RoleKey> decide(std::span<const Subject> subjects);

    std::size_t remembered() const { return entries_.size(); }

  private:
    // argv changes only at exec, or when it is first read: its shape stands for it.
    struct Evidence {
        std::string comm{};
        std::size_t arguments = 0;
        std::size_t argument_bytes = 0;
        std::uint32_t exec_count = 0;
        bool forked_without_exec = false;
        bool own_memory = false;
        bool gpu_context = false;
        std::optional<Role> parent{};
        bool operator==(const Evidence&) const = default;
    };
    struct Entry {
        Evidence evidence{};
        bool decided = false;
        bool had_memory = false;  // seen with memory of its own since its last exec
        Role role = Role::other;
        pid_t parent_pid = 0;
        std::optional<RoleKey> parent{};
        std::uint64_t seen = 0;  // the round it was last among the subjects
    };
    struct Known {  // the parent, where it is among the subjects
        const Subject* subject = nullptr;
        RoleKey key{};
    };
    struct HashId {
        std::size_t operator()(const ProcessId& id) const noexcept;
    };

    RoleKey decide_one(const Subject& subject, const std::optional<Known>& parent);

    Role decide_alike(const RoleFacts& facts);

    std::vector<RoleRule> rules_;
    std::unordered_map<std::string, Role> answers_;  // by everything a rule looks at
    std::unordered_map<ProcessId, Entry, HashId> entries_;
    std::uint64_t round_ = 0;
};

}  // namespace memscope
