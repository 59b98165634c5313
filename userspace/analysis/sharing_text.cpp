#include "analysis/sharing_text.h"

#include <algorithm>
#include <fmt/format.h>

namespace memscope {
namespace {

constexpr Bytes kMaterial{64ULL << 20};
constexpr std::uint64_t kMaterialPart = 50;  // of the target: 2 %
constexpr Bytes kWorthCounting{1ULL << 20};

std::string_view noun_of(Role role) {
    if (role == Role::dataloader_worker) return "worker";
    if (role == Role::compile_worker) return "compile worker";
    return "forked process";
}

std::string many(std::uint64_t n, std::string_view noun) {
    return fmt::format("{} {}{}", n, noun, n == 1 ? "" : noun.ends_with("s") ? "es" : "s");
}

}  // namespace

void UnsharingStory::add(const Copier& process) {
    if (process.copied < kWorthCounting) return;
    Sum& sum = kinds_[{process.role, process.parent}];
    sum.copied += process.copied;
    ++sum.processes;
    sum.since_fork = sum.since_fork && process.since_fork;
    sum.confirmed = sum.confirmed && process.confirmed;
}

bool UnsharingStory::is_material(Bytes target) const {
    Bytes all;
    for (const auto& [kind, sum] : kinds_) all += sum.copied;
    return all >= kMaterial && all.n >= target.n / kMaterialPart;
}

std::map<UnsharingStory::Kind, UnsharingStory::Sum>::const_iterator UnsharingStory::most() const {
    return std::ranges::max_element(kinds_, {}, [](const auto& entry) { return entry.second.copied; });
}

std::optional<Copiers> UnsharingStory::copiers() const {
    const auto found = most();
    if (found == kinds_.end()) return std::nullopt;
    const auto& [kind, sum] = *found;
    return Copiers{.role = kind.role, .parent = kind.parent, .processes = sum.processes, .confirmed = sum.confirmed};
}

std::string UnsharingStory::tell() const {
    const auto found = most();
    if (found == kinds_.end()) return {};
    const auto& [kind, sum] = *found;
    const bool one = sum.processes == 1;
    const std::string whose = kind.parent == Role::trainer ? "the trainer's" : one ? "its parent's" : "their parent's";
    const std::string_view since = sum.since_fork ? (one ? "since it was forked" : "since they were forked")
                                   : one          ? "since it has been watched"
                                                  : "since they have been watched";
    // Whose workers these are, Python runs in them; what writes in others is not known.
    const std::string_view why =
        kind.role == Role::dataloader_worker
            ? "CPython's reference counts do this; keep datasets in arrays, not lists of objects"
            : "a page is copied when somebody writes to it";
    const std::string_view did = sum.confirmed ? (one ? "has" : "have") : (one ? "seems to have" : "seem to have");
    return fmt::format("{} {} copied {} of {} pages {}; {}", many(sum.processes, noun_of(kind.role)), did,
                       human_size(sum.copied), whose, since, why);
}

}  // namespace memscope
