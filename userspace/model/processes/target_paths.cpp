#include "model/processes/target_paths.h"

#include <algorithm>

namespace memscope {
namespace {

int rank_of(char c) { return c == '/' ? -1 : static_cast<unsigned char>(c); }

// Sorts right behind all paths below `path`: no path has a NUL, which is the lowest character after '/'.
std::string behind_all_below(const std::string& path) { return path + '\0'; }

}  // namespace

bool TargetPaths::BelowFirst::operator()(std::string_view a, std::string_view b) const {
    return std::ranges::lexicographical_compare(a, b, {}, rank_of, rank_of);
}

CgroupId TargetPaths::find_enclosing(const std::string& path) {
    std::string_view outer = path;
    while (!outer.empty()) {
        const auto slash = outer.rfind('/');
        outer = outer.substr(0, slash == std::string_view::npos ? 0 : slash);
        ++lookups_;
        if (const auto found = targets_.find(outer); found != targets_.end()) return found->second;
    }
    return kNoCgroup;
}

std::vector<CgroupId> TargetPaths::find_inside(const std::string& path) {
    std::vector<CgroupId> inside;
    const auto find_behind = [this](const std::string& outer) {
        ++lookups_;
        return outer.empty() ? targets_.end() : targets_.lower_bound(behind_all_below(outer));
    };
    ++lookups_;
    const auto end = find_behind(path);
    // Targets that are deeper already have one of these as their enclosing target.
    for (auto at = targets_.upper_bound(path); at != end; at = find_behind(at->first)) inside.push_back(at->second);
    return inside;
}

TargetPaths::Place TargetPaths::add(const std::string& path, CgroupId target) {
    Place place{.enclosing = find_enclosing(path), .inside = find_inside(path)};
    targets_.insert_or_assign(path, target);
    return place;
}

void TargetPaths::remove(const std::string& path, CgroupId target) {
    const auto found = targets_.find(path);
    if (found != targets_.end() && found->second == target) targets_.erase(found);
}

}  // namespace memscope
