#include "analysis/role_rules.h"

#include <algorithm>
#include <array>
#include <fnmatch.h>

#include "analysis/program_names.h"

namespace memscope {
namespace {

// A glob that is looked at once and then compared with many words. Nearly all are plain but for a `*` at their ends,
// and fnmatch() costs twenty times such a comparison: a trainer with many arguments would take 50 us.
class Glob {
  public:
    explicit Glob(const std::string& pattern) : pattern_(pattern), core_(pattern) {
        open_front_ = core_.starts_with('*');
        if (open_front_) core_.remove_prefix(1);
        open_back_ = core_.ends_with('*');
        if (open_back_) core_.remove_suffix(1);
        plain_ = core_.find_first_of("*?[\\") == std::string_view::npos;
    }

    bool matches(std::string_view text) const {
        if (!plain_) return ::fnmatch(pattern_.c_str(), std::string(text).c_str(), 0) == 0;
        if (open_front_ && open_back_) return text.find(core_) != std::string_view::npos;
        if (open_front_) return text.ends_with(core_);
        if (open_back_) return text.starts_with(core_);
        return text == core_;
    }

  private:
    const std::string& pattern_;
    std::string_view core_;
    bool open_front_ = false;
    bool open_back_ = false;
    bool plain_ = false;
};

bool any_matches(const std::string& pattern, const auto& texts) {
    if (pattern.empty()) return true;
    const Glob glob(pattern);
    return std::ranges::any_of(texts, [&](std::string_view text) { return glob.matches(text); });
}

}  // namespace

Role decide_role(const RoleFacts& facts, std::span<const RoleRule> rules) {
    const auto programs = program_names(facts.comm, facts.argv);
    for (const RoleRule& rule : rules) {
        if (rule.parent && rule.parent != facts.parent_role) continue;
        if (rule.forked_without_exec && *rule.forked_without_exec != facts.forked_without_exec) continue;
        if (rule.own_memory && *rule.own_memory != facts.own_memory) continue;
        if (rule.gpu_context && *rule.gpu_context != facts.gpu_context) continue;
        if (!any_matches(rule.comm, std::array{facts.comm})) continue;
        if (!any_matches(rule.program, programs)) continue;
        if (!any_matches(rule.argument, facts.argv)) continue;
        return rule.role;
    }
    return Role::other;
}

}  // namespace memscope
