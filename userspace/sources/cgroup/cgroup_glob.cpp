#include "sources/cgroup/cgroup_glob.h"

#include <algorithm>
#include <fnmatch.h>
#include <string>

namespace memscope {

bool has_wildcard(std::string_view text) { return text.find_first_of("*?[") != std::string_view::npos; }

bool component_matches(std::string_view pattern, std::string_view name) {
    return ::fnmatch(std::string(pattern).c_str(), std::string(name).c_str(), FNM_NOESCAPE) == 0;
}

GlobProgress::GlobProgress(const std::vector<std::string_view>& pattern) : GlobProgress(pattern, {0}) {}

GlobProgress::GlobProgress(const std::vector<std::string_view>& pattern, std::vector<std::size_t> positions)
    : pattern_(&pattern), positions_(std::move(positions)) {
    // `**` may also match no name. Then the next name must match the component after it.
    for (std::size_t i = 0; i < positions_.size(); ++i)
        if (positions_[i] < pattern.size() && pattern[positions_[i]] == "**") positions_.push_back(positions_[i] + 1);
    std::sort(positions_.begin(), positions_.end());
    positions_.erase(std::unique(positions_.begin(), positions_.end()), positions_.end());
}

GlobProgress GlobProgress::after(std::string_view name) const {
    std::vector<std::size_t> next;
    for (const std::size_t at : positions_) {
        if (at == pattern_->size()) continue;
        const std::string_view wanted = (*pattern_)[at];
        if (wanted == "**")
            next.push_back(at);
        else if (component_matches(wanted, name))
            next.push_back(at + 1);
    }
    return {*pattern_, std::move(next)};
}

}  // namespace memscope
