#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

namespace memscope {

// *, ? and [] within one component; backslash is an ordinary character, because systemd puts it into names.
bool has_wildcard(std::string_view text);
bool component_matches(std::string_view pattern, std::string_view name);

// Which components of the pattern may come next. Carried down the tree, it says at each directory whether it is a
// match and whether anything below it can be one. `**` as a component stands for any number of them, none included.
class GlobProgress {
  public:
    explicit GlobProgress(const std::vector<std::string_view>& pattern);  // which must outlive all that follow from it

    GlobProgress after(std::string_view name) const;
    bool matches() const { return !positions_.empty() && positions_.back() == pattern_->size(); }
    bool can_match_below() const { return !positions_.empty() && positions_.front() < pattern_->size(); }

  private:
    GlobProgress(const std::vector<std::string_view>& pattern, std::vector<std::size_t> positions);

    const std::vector<std::string_view>* pattern_;
    std::vector<std::size_t> positions_;  // sorted, each once: so the work per name is bounded by the pattern's length
};

}  // namespace memscope
