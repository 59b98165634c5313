#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

namespace memscope {

// *, ? and [] within one component; backslash is an ordinary character, because systemd puts it into names.
bool has_wildcard(std::string_view text);
bool component_matches(std::string_view pattern, std::string_view name);

// The state of matching a path against a pattern: the components of the pattern that the next name may match. A walk of
// the tree calls after(name) for each directory and then asks whether the directory matches and whether a match below
// it is possible. The component `**` matches any number of names, including none.
class GlobProgress {
  public:
    // `pattern` must outlive this object and all objects that after() makes from it.
    explicit GlobProgress(const std::vector<std::string_view>& pattern);

    GlobProgress after(std::string_view name) const;
    bool matches() const { return !positions_.empty() && positions_.back() == pattern_->size(); }
    bool can_match_below() const { return !positions_.empty() && positions_.front() < pattern_->size(); }

  private:
    GlobProgress(const std::vector<std::string_view>& pattern, std::vector<std::size_t> positions);

    const std::vector<std::string_view>* pattern_;
    // Sorted and unique, so the work per name is bounded by the length of the pattern.
    std::vector<std::size_t> positions_;
};

}  // namespace memscope
