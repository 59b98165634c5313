#include "watch/growth/call_sites.h"

#include <algorithm>
#include <ranges>
#include <string_view>
#include <tuple>

#include "analysis/growth/attribution.h"

namespace memscope {
namespace {

// The budget for names has this many shares. The names of one address space may use one share. Between two folds, all
// names together may exceed the budget by one share.
constexpr std::size_t kSharesOfNames = 4;
// An address space that uses at most this part (1/16) of a share may exceed the budget by a second share.
constexpr std::size_t kModest = 16;

auto place_of(const NativeLocation& location) { return std::tuple(location.module.get(), location.offset); }

bool comes_before(const NativeLocation& a, const NativeLocation& b) { return place_of(a) < place_of(b); }

// Without the names of frames.
std::size_t own_bytes(const CallSite& site) {
    return sizeof site + site.native.size() * sizeof(NativeLocation) + site.python.size() * sizeof(FramePtr);
}

// The BPF programs make ids in the same way, as hashes, so only chance can make two of them equal.
StackId line_stack(SpaceId space, const CallSite& line) {
    auto hash = static_cast<std::uint64_t>(space);
    const auto mix = [&](std::uint64_t word) {
        hash = (hash ^ word) * 0x9E3779B97F4A7C15U;
        hash ^= hash >> 32U;
    };
    for (const PythonFrame& frame : line.python) {
        mix(std::hash<std::string>{}(frame.function));
        mix(std::hash<std::string>{}(frame.file));
        mix(static_cast<std::uint64_t>(frame.line));
    }
    for (const NativeLocation& location : line.native) {
        mix(reinterpret_cast<std::uintptr_t>(location.module.get()));
        mix(location.offset);
    }
    return hash == 0 ? StackId{1} : StackId{hash};
}

}  // namespace

SiteGrowth growth_at(const CallSitePtr& site, const HeldAtStack& at, const RoleKey& role) {
    return {.site = site,
            .pid = at.process.pid,
            .role = role,
            .bytes = at.bytes,
            .passing = at.passing,
            .arenas = at.arena_sized && is_mapped_by_python(*site)};
}

bool is_mapped_by_python(const CallSite& site) {
    if (site.python.empty() || site.native.size() < 2 || !site.native[1].module) return false;
    const std::string& path = site.native[1].module->name();
    const std::string_view file = std::string_view(path).substr(path.rfind('/') + 1);
    return file.starts_with("python") || file.starts_with("libpython");
}

CallSite own_line_of(const CallSite& site) {
    CallSite line;
    const PythonFrame* own = own_frame(site.python);
    if (own == nullptr) {
        if (!site.native.empty()) line.native = {site.native.front()};
        return line;
    }
    // The frames that show that the line imports a module, and which.
    const bool import = is_import(site.python);
    std::optional<std::size_t> module;
    std::size_t at = 0;
    for (; &site.python[at] != own; ++at) {
        if (!import) continue;
        if (is_import_system(site.python[at]) && line.python.empty()) line.python.push_back(site.python.shared(at));
        if (site.python[at].function == "<module>") module = at;
    }
    if (module) line.python.push_back(site.python.shared(*module));
    line.python.push_back(site.python.shared(at));
    return line;
}

std::size_t name_bytes(const CallSite& site) {
    std::size_t bytes = own_bytes(site);
    for (const PythonFrame& frame : site.python)
        bytes += sizeof frame + frame.function.capacity() + frame.file.capacity();
    return bytes;
}

bool CallSites::SameSite::operator()(const CallSitePtr& a, const CallSitePtr& b) const {
    if (!(a->python == b->python)) return a->python < b->python;
    return std::lexicographical_compare(a->native.begin(), a->native.end(), b->native.begin(), b->native.end(),
                                        comes_before);
}

CallSitePtr CallSites::interned(CallSite site) {
    site.python = frames_.pooled(site.python);
    const auto [place, fresh] = sites_.insert(std::make_shared<const CallSite>(std::move(site)));
    if (fresh) name_bytes_ += own_bytes(**place);
    return *place;
}

void CallSites::forget_unused_sites() {
    std::erase_if(sites_, [this](const CallSitePtr& site) {
        if (site.use_count() > 1) return false;
        name_bytes_ -= own_bytes(*site);
        return true;
    });
    frames_.forget_unused();
}

void CallSites::rename(Stack& stack, Space& space, CallSitePtr site, std::size_t bytes) {
    space.name_bytes -= stack.bytes;
    stack.site = std::move(site);
    stack.bytes = bytes;
    space.name_bytes += bytes;
}

std::size_t CallSites::new_bytes(const CallSite& site) const {
    return own_bytes(site) + frames_.new_bytes(site.python);
}

// A share is reserved for processes with few names, so that a process with many cannot use up the whole budget before
// the next fold.
bool CallSites::has_room(const Space& space, std::size_t bytes) const {
    const std::size_t share = limits_.name_bytes / kSharesOfNames;
    const bool modest = space.name_bytes + bytes <= share / kModest;
    const std::size_t most = limits_.name_bytes + (modest ? 2 : 1) * share;
    return space.name_bytes + bytes <= share && name_bytes() + bytes <= most;
}

CallSites::Space& CallSites::register_stack(const RawStack& stack) {
    stacks_[stack.id].space = stack.space;
    Space& space = spaces_[stack.space];
    space.process = stack.process;
    by_pid_.emplace(stack.process.pid, stack.space);
    space.stacks.insert(stack.id);
    return space;
}

void CallSites::expect_names(const RawStack& stack) {
    (void)register_stack(stack);
    stacks_[stack.id].expected = true;
}

bool CallSites::expects_names(StackId stack) const {
    const auto found = stacks_.find(stack);
    return found != stacks_.end() && found->second.expected;
}

void CallSites::lose_names(StackId stack) {
    if (const auto found = stacks_.find(stack); found != stacks_.end()) found->second.expected = false;
}

bool CallSites::learn(const RawStack& stack, CallSite site) {
    Space& space = register_stack(stack);
    Stack& known = stacks_[stack.id];
    known.expected = false;
    std::size_t bytes = new_bytes(site);
    if (!has_room(space, bytes)) {
        site = own_line_of(site);
        bytes = new_bytes(site);
        if (!has_room(space, bytes)) return false;
    }
    rename(known, space, interned(std::move(site)), bytes);
    return true;
}

void CallSites::give_up(StackId stack) {
    const auto known = stacks_.find(stack);
    if (known == stacks_.end()) return;
    Space& space = spaces_[known->second.space];
    rename(known->second, space, nullptr, 0);
    space.stacks.erase(stack);
    stacks_.erase(known);
}

std::vector<SpaceId> CallSites::spaces_of(pid_t pid) const {
    std::vector<SpaceId> found;
    for (auto each = by_pid_.lower_bound({pid, SpaceId{}}); each != by_pid_.end() && each->first == pid; ++each)
        found.push_back(each->second);
    return found;
}

std::set<pid_t> CallSites::growing() const {
    std::set<pid_t> pids;
    for (const auto& [id, space] : spaces_) pids.insert(space.process.pid);
    return pids;
}

std::vector<StackId> CallSites::end(SpaceId space) {
    const auto found = spaces_.find(space);
    if (found == spaces_.end()) return {};
    std::vector<StackId> gone(found->second.stacks.begin(), found->second.stacks.end());
    for (const StackId id : gone) stacks_.erase(id);
    by_pid_.erase({found->second.process.pid, space});
    spaces_.erase(found);
    forget_unused_sites();
    return gone;
}

// The stack that stands for the merged stacks of the same own line.
StackId CallSites::line_of(SpaceId id, Space& space, const CallSitePtr& site) {
    if (site == nullptr) return kNoStack;
    CallSitePtr line = interned(own_line_of(*site));
    const StackId stack = line_stack(id, *line);
    // A program that makes up lines all the time must not displace the stacks of others.
    const std::size_t most = std::min(limits_.of_space / 2, limits_.stacks / 8);
    if (!space.stacks.contains(stack) && space.lines >= most) return kNoStack;
    Stack& known = stacks_[stack];
    if (space.stacks.insert(stack).second) {
        ++space.lines;
        const std::size_t bytes = own_bytes(*line);
        known = {.space = id, .is_line = true};
        rename(known, space, std::move(line), bytes);
    }
    return stack;
}

void CallSites::fold_space(SpaceId id, Space& space, const SizeOf& size_of, Remove which, Folded& folded) {
    std::vector<std::pair<std::int64_t, StackId>> by_size;
    by_size.reserve(space.stacks.size());
    for (const StackId stack : space.stacks)
        if (!stacks_[stack].is_line)
            if (const auto size = size_of(stack)) by_size.emplace_back(*size, stack);
    std::sort(by_size.begin(), by_size.end());
    const auto holds = std::ranges::find_if(by_size, [](const auto& each) { return each.first > 0; });
    const std::size_t most =
        which == Remove::empty_ones ? static_cast<std::size_t>(holds - by_size.begin()) : (space.stacks.size() + 1) / 2;
    by_size.resize(std::min(by_size.size(), most));
    for (const auto& [size, stack] : by_size | std::views::reverse) {  // the largest ones get their lines first
        const CallSitePtr site = stacks_[stack].site;
        space.stacks.erase(stack);
        rename(stacks_[stack], space, nullptr, 0);
        stacks_.erase(stack);
        folded.stacks[stack] = size > 0 ? line_of(id, space, site) : kNoStack;
        ++folded.lost[space.process.pid];
    }
    // Lines whose memory was freed.
    if (which != Remove::empty_ones) return;
    std::vector<StackId> empty;
    for (const StackId stack : space.stacks)
        if (stacks_[stack].is_line && size_of(stack).value_or(1) <= 0) empty.push_back(stack);
    for (const StackId stack : empty) {
        space.stacks.erase(stack);
        rename(stacks_[stack], space, nullptr, 0);
        stacks_.erase(stack);
        --space.lines;
    }
}

bool CallSites::has_crowded_space() const {
    return std::ranges::any_of(spaces_, [this](const auto& each) { return is_crowded(each.second); });
}

void CallSites::fold_all(const SizeOf& size_of, Folded& folded) {
    if (name_bytes() > limits_.name_bytes) forget_unused_sites();
    const bool too_many_names = name_bytes() > limits_.name_bytes;
    std::vector<std::pair<std::size_t, SpaceId>> by_weight;
    by_weight.reserve(spaces_.size());
    for (const auto& [id, space] : spaces_)
        by_weight.emplace_back(too_many_names ? space.name_bytes : space.stacks.size(), id);
    std::sort(by_weight.rbegin(), by_weight.rend());
    // Fold to three quarters of the limits, so that the next stack does not start another fold.
    const auto has_room = [&] {
        return stacks_.size() <= limits_.stacks / 4 * 3 && name_bytes() <= limits_.name_bytes / 4 * 3;
    };
    for (const auto& [weight, id] : by_weight) {
        if (has_room()) break;
        fold_space(id, spaces_[id], size_of, Remove::smallest_half, folded);
        if (too_many_names) forget_unused_sites();
    }
}

CallSites::Folded CallSites::fold(const SizeOf& size_of) {
    Folded folded;
    for (auto& [id, space] : spaces_) {
        if (!is_crowded(space)) continue;
        fold_space(id, space, size_of, Remove::empty_ones, folded);
        if (space.stacks.size() > limits_.of_space / 4 * 3)
            fold_space(id, space, size_of, Remove::smallest_half, folded);
    }
    if (is_full()) fold_all(size_of, folded);
    if (!folded.stacks.empty()) forget_unused_sites();
    return folded;
}

const CallSitePtr* CallSites::site_of(StackId stack) const {
    const auto found = stacks_.find(stack);
    return found == stacks_.end() || !found->second.site ? nullptr : &found->second.site;
}

}  // namespace memscope
