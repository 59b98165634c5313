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

// Keeps the decided role of each process and decides again only if the evidence has changed.
class RoleDecider {
  public:
    explicit RoleDecider(std::vector<RoleRule> user_rules = {});  // checked before the built-in rules

    struct Subject {
        ProcessId id{};
        pid_t parent = 0;
        std::string_view comm{};
        const std::vector<std::string>* argv = nullptr;  // null or empty: not known
        std::optional<int> rank{};                       // from its own environment
        bool forked_without_exec = false;
        std::optional<bool> own_memory = true;  // none: not read yet, assumed true until then
        bool gpu_context = false;               // it uses or has used a GPU; only an exec resets it
        std::optional<int> gpu_index{};         // of that GPU, if it uses only one
        std::uint32_t exec_count = 0;
    };

    // The roles and ranks of all subjects, in their order. Parents are decided before their children, in any order of
    // the subjects. If a parent is missing, or if there is a cycle, only the conclusions from the parent are
    // missing. A rank is the process's own, otherwise for a trainer the index of its GPU, otherwise that of its nearest
    // ancestor with a rank. Processes that are not among the subjects are forgotten.
    std::vector<RoleKey> decide(std::span<const Subject> subjects);

    std::size_t remembered() const { return entries_.size(); }

  private:
    // argv changes only at exec, or when it is first read, so comparing its length is enough.
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
        bool had_memory = false;  // it had memory of its own at some time since its last exec
        Role role = Role::other;
        pid_t parent_pid = 0;
        std::optional<RoleKey> parent{};
        std::uint64_t seen = 0;  // the last round in which it was among the subjects
    };
    struct Known {  // the parent, if it is among the subjects
        const Subject* subject = nullptr;
        RoleKey key{};
    };
    struct HashId {
        std::size_t operator()(const ProcessId& id) const noexcept;
    };

    RoleKey decide_one(const Subject& subject, const std::optional<Known>& parent);

    Role decide_cached(const RoleFacts& facts);

    std::vector<RoleRule> rules_;
    std::unordered_map<std::string, Role> answers_;  // by all facts that a rule checks
    std::unordered_map<ProcessId, Entry, HashId> entries_;
    std::uint64_t round_ = 0;
};

}  // namespace memscope
