#include "watch/growth/growth_book.h"

#include <algorithm>
#include <tuple>

namespace memscope {
namespace {

constexpr std::size_t kMostPastPids = 64;  // pids of ended processes that are kept for each call site
// A share is this part of the budget for names. One address space may use one share, and one share is the reserve
// between two folds.
constexpr std::size_t kSharesOfNames = 4;
constexpr std::size_t kModest = 16;  // part of a share: an address space with fewer names may use a second reserve

auto place_of(const NativeLocation& location) { return std::tuple(location.module.get(), location.offset); }

bool comes_before(const NativeLocation& a, const NativeLocation& b) { return place_of(a) < place_of(b); }

}  // namespace

std::size_t name_bytes(const CallSite& site) {
    std::size_t bytes = sizeof site + site.native.size() * sizeof(NativeLocation);
    for (const PythonFrame& frame : site.python)
        bytes += sizeof frame + frame.function.capacity() + frame.file.capacity();
    return bytes;
}

bool GrowthBook::SameSite::operator()(const CallSitePtr& a, const CallSitePtr& b) const {
    if (a->python != b->python) return a->python < b->python;
    return std::lexicographical_compare(a->native.begin(), a->native.end(), b->native.begin(), b->native.end(),
                                        comes_before);
}

bool GrowthBook::PastKey::operator<(const PastKey& other) const {
    return std::tie(site, role, run) < std::tie(other.site, other.role, other.run);
}

CallSitePtr GrowthBook::interned(CallSite site) {
    const auto [place, fresh] = sites_.insert(std::make_shared<const CallSite>(std::move(site)));
    if (fresh) name_bytes_ += memscope::name_bytes(**place);
    return *place;
}

void GrowthBook::forget_unused_sites() {
    std::erase_if(sites_, [this](const CallSitePtr& site) {
        if (site.use_count() > 1) return false;
        name_bytes_ -= memscope::name_bytes(*site);
        return true;
    });
}

void GrowthBook::rename(Stack& stack, Space& space, CallSitePtr site) {
    if (stack.site) space.name_bytes -= memscope::name_bytes(*stack.site);
    stack.site = std::move(site);
    if (stack.site) space.name_bytes += memscope::name_bytes(*stack.site);
}

GrowthBook::Space& GrowthBook::register_stack(const RawStack& stack) {
    stacks_[stack.id].space = stack.space;
    Space& space = spaces_[stack.space];
    space.process = stack.process;
    by_pid_.emplace(stack.process.pid, stack.space);
    space.stacks.insert(stack.id);
    return space;
}

void GrowthBook::expect_names(const RawStack& stack) {
    (void)register_stack(stack);
    stacks_[stack.id].expected = true;
}

bool GrowthBook::expects_names(StackId stack) const {
    const auto found = stacks_.find(stack);
    return found != stacks_.end() && found->second.expected;
}

void GrowthBook::lose_names(StackId stack) {
    if (const auto found = stacks_.find(stack); found != stacks_.end()) found->second.expected = false;
}

bool GrowthBook::learn(const RawStack& stack, CallSite site) {
    Space& space = register_stack(stack);
    Stack& known = stacks_[stack.id];
    known.expected = false;
    const std::size_t bytes = memscope::name_bytes(site);
    const std::size_t share = limits_.name_bytes / kSharesOfNames;
    // Reserve a share for processes with few names, so that a process with many cannot use up the whole budget before
    // the next fold.
    const bool modest = space.name_bytes + bytes <= share / kModest;
    const std::size_t most = limits_.name_bytes + (modest ? 2 : 1) * share;
    if (space.name_bytes + bytes > share || name_bytes_ + bytes > most) return false;
    rename(known, space, interned(std::move(site)));
    return true;
}

void GrowthBook::give_up(StackId stack, std::int64_t bytes) {
    const auto known = stacks_.find(stack);
    if (known == stacks_.end()) return;
    Space& space = spaces_[known->second.space];
    rename(known->second, space, nullptr);
    space.folded += bytes;
    space.stacks.erase(stack);
    stacks_.erase(known);
}

void GrowthBook::set_resident(std::span<const StackGrowth> growth) {
    for (const StackGrowth& booked : growth) {
        Stack& stack = stacks_[booked.stack];
        stack.resident = booked.bytes;
        if (stack.site) continue;
        stack.space = booked.space;
        Space& space = spaces_[booked.space];
        if (space.process.pid == 0) space.process.pid = booked.pid;
        by_pid_.emplace(space.process.pid, booked.space);
        space.stacks.insert(booked.stack);
    }
}

std::vector<SpaceId> GrowthBook::spaces_of(pid_t pid) const {
    std::vector<SpaceId> found;
    for (auto each = by_pid_.lower_bound({pid, SpaceId{}}); each != by_pid_.end() && each->first == pid; ++each)
        found.push_back(each->second);
    return found;
}

std::set<pid_t> GrowthBook::growing() const {
    std::set<pid_t> pids;
    for (const auto& [id, space] : spaces_) pids.insert(space.process.pid);
    return pids;
}

void GrowthBook::keep(const CallSitePtr& site, const Holder& holder, pid_t pid, std::int64_t bytes) {
    for (const RunId run : holder.runs) {
        Past& past = past_[{site, holder.role, run}];
        past.bytes += bytes;
        if (past.pids.size() < kMostPastPids) past.pids.insert(pid);
    }
}

std::vector<StackId> GrowthBook::end(const SpaceGrowth& last, const Holder& holder) {
    std::vector<StackId> gone;
    Unnamed unnamed{.external = last.external, .other = last.other, .paused = last.paused};
    std::int64_t named = 0;
    if (const auto found = spaces_.find(last.space); found != spaces_.end()) {
        unnamed.other += found->second.folded;
        for (const StackId id : found->second.stacks) {
            const Stack& stack = stacks_[id];
            (stack.site ? named : unnamed.unknown_stack) += stack.resident;
            if (stack.site && stack.resident != 0) keep(stack.site, holder, found->second.process.pid, stack.resident);
            stacks_.erase(id);
            gone.push_back(id);
        }
        by_pid_.erase({found->second.process.pid, last.space});
        spaces_.erase(found);
    }
    // The whole growth of the process. Memory from its parent or from before watching began was never counted.
    unnamed.exited = -(named + unnamed.external + unnamed.other + unnamed.unknown_stack + unnamed.paused);
    for (const RunId run : holder.runs) {
        Unnamed& past = past_unnamed_[run];
        past.external += unnamed.external;
        past.other += unnamed.other;
        past.unknown_stack += unnamed.unknown_stack;
        past.paused += unnamed.paused;
        past.exited += unnamed.exited;
    }
    if (past_.size() > limits_.past_sites) fold_past();
    forget_unused_sites();
    return gone;
}

// Counts the smallest half of the past call sites without their names.
void GrowthBook::fold_past() {
    std::vector<std::map<PastKey, Past>::iterator> by_size;
    for (auto it = past_.begin(); it != past_.end(); ++it) by_size.push_back(it);
    std::sort(by_size.begin(), by_size.end(),
              [](const auto& a, const auto& b) { return std::abs(a->second.bytes) < std::abs(b->second.bytes); });
    by_size.resize(by_size.size() / 2);
    for (const auto& it : by_size) {
        past_unnamed_[it->first.run].other += it->second.bytes;
        past_.erase(it);
    }
}

// Removes the smallest half of the stacks of an address space. Returns how many were removed.
std::size_t GrowthBook::fold_space(Space& space, const Take& take) {
    std::vector<std::pair<std::int64_t, StackId>> by_size;
    by_size.reserve(space.stacks.size());
    for (const StackId id : space.stacks) by_size.emplace_back(std::abs(stacks_[id].resident), id);
    std::sort(by_size.begin(), by_size.end());
    by_size.resize((by_size.size() + 1) / 2);
    std::size_t gone = 0;
    for (const auto& [size, id] : by_size) {
        const auto taken = take(id);
        if (!taken) continue;
        space.folded += *taken;
        space.stacks.erase(id);
        rename(stacks_[id], space, nullptr);
        stacks_.erase(id);
        ++gone;
    }
    return gone;
}

std::map<pid_t, std::uint32_t> GrowthBook::fold(const Take& take) {
    std::map<pid_t, std::uint32_t> lost;
    if (!is_full()) return lost;
    if (name_bytes_ > limits_.name_bytes) {
        fold_past();
        forget_unused_sites();
    }
    const bool too_many_names = name_bytes_ > limits_.name_bytes;
    std::vector<std::pair<std::size_t, Space*>> by_weight;
    by_weight.reserve(spaces_.size());
    for (auto& [id, space] : spaces_)
        by_weight.emplace_back(too_many_names ? space.name_bytes : space.stacks.size(), &space);
    std::sort(by_weight.rbegin(), by_weight.rend());
    // Fold to three quarters of the limits, so that the next stack does not start another fold.
    const auto has_room = [&] {
        return stacks_.size() <= limits_.stacks / 4 * 3 && name_bytes_ <= limits_.name_bytes / 4 * 3;
    };
    for (const auto& [weight, space] : by_weight) {
        if (has_room()) break;
        if (const std::size_t gone = fold_space(*space, take); gone > 0)
            lost[space->process.pid] += static_cast<std::uint32_t>(gone);
        if (too_many_names) forget_unused_sites();
    }
    forget_unused_sites();
    return lost;
}

std::vector<BookedGrowth> GrowthBook::resident(RunId run,
                                               const std::function<const RoleKey*(const ProcessId&)>& role_of) const {
    std::vector<BookedGrowth> booked;
    for (const auto& [id, stack] : stacks_) {
        if (!stack.site || stack.resident == 0) continue;
        const ProcessId& process = spaces_.at(stack.space).process;
        if (const RoleKey* role = role_of(process))
            booked.push_back({stack.site, process.pid, *role, stack.resident, true});
    }
    for (const auto& [key, past] : past_) {
        if (key.run != run) continue;
        std::int64_t bytes = past.bytes;  // counted for the first pid, 0 for the others
        for (const pid_t pid : past.pids) booked.push_back({key.site, pid, key.role, std::exchange(bytes, 0), false});
    }
    return booked;
}

const CallSitePtr* GrowthBook::site_of(StackId stack) const {
    const auto found = stacks_.find(stack);
    return found == stacks_.end() || !found->second.site ? nullptr : &found->second.site;
}

void GrowthBook::keep_only(const std::set<RunId>& runs) {
    std::erase_if(past_, [&](const auto& each) { return !runs.contains(each.first.run); });
    std::erase_if(past_unnamed_, [&](const auto& each) { return !runs.contains(each.first); });
    forget_unused_sites();
}

GrowthBook::Unnamed GrowthBook::past(RunId run) const {
    const auto found = past_unnamed_.find(run);
    return found == past_unnamed_.end() ? Unnamed{} : found->second;
}

GrowthBook::Unnamed GrowthBook::folded(const ProcessId& process) const {
    Unnamed sum;
    for (const SpaceId id : spaces_of(process.pid)) {
        const auto found = spaces_.find(id);
        if (found == spaces_.end() || found->second.process.pid != process.pid) continue;
        const Space& space = found->second;
        sum.other += space.folded;
        for (const StackId stack : space.stacks)
            if (const Stack& its = stacks_.at(stack); !its.site)
                (its.expected ? sum.pending : sum.unknown_stack) += its.resident;
    }
    return sum;
}

}  // namespace memscope
