#include "watch/growth_book.h"

#include <algorithm>
#include <tuple>

namespace memscope {
namespace {

constexpr std::size_t kMostPast = 4096;    // sites of processes that have ended
constexpr std::size_t kMostPastPids = 64;  // named at each

auto place_of(const NativeLocation& location) { return std::tuple(location.module.get(), location.offset); }

bool comes_before(const NativeLocation& a, const NativeLocation& b) { return place_of(a) < place_of(b); }

}  // namespace

bool GrowthBook::SameSite::operator()(const CallSitePtr& a, const CallSitePtr& b) const {
    if (a->python != b->python) return a->python < b->python;
    return std::lexicographical_compare(a->native.begin(), a->native.end(), b->native.begin(), b->native.end(),
                                        comes_before);
}

bool GrowthBook::PastKey::operator<(const PastKey& other) const {
    return std::tie(site, role, target) < std::tie(other.site, other.role, other.target);
}

CallSitePtr GrowthBook::interned(CallSite site) {
    return *sites_.insert(std::make_shared<const CallSite>(std::move(site))).first;
}

void GrowthBook::learn(const RawStack& stack, CallSite site) {
    Stack& known = stacks_[stack.id];
    known.space = stack.space;
    known.site = interned(std::move(site));
    Space& space = spaces_[stack.space];
    space.process = stack.process;
    space.stacks.insert(stack.id);
}

void GrowthBook::set_resident(std::span<const StackGrowth> growth) {
    for (const StackGrowth& booked : growth) {
        Stack& stack = stacks_[booked.stack];
        stack.resident = booked.bytes;
        if (stack.site) continue;
        stack.space = booked.space;
        Space& space = spaces_[booked.space];
        if (space.process.pid == 0) space.process.pid = booked.pid;
        space.stacks.insert(booked.stack);
    }
}

std::vector<SpaceId> GrowthBook::spaces_of(pid_t pid) const {
    std::vector<SpaceId> found;
    for (const auto& [id, space] : spaces_)
        if (space.process.pid == pid) found.push_back(id);
    return found;
}

std::set<pid_t> GrowthBook::growing() const {
    std::set<pid_t> pids;
    for (const auto& [id, space] : spaces_) pids.insert(space.process.pid);
    return pids;
}

void GrowthBook::keep(const CallSitePtr& site, const Holder& holder, pid_t pid, std::int64_t bytes) {
    for (const std::string& target : holder.targets) {
        Past& past = past_[{site, holder.role, target}];
        past.bytes += bytes;
        if (past.pids.size() < kMostPastPids) past.pids.insert(pid);
    }
}

std::vector<StackId> GrowthBook::end(const SpaceGrowth& last, const Holder& holder) {
    std::vector<StackId> gone;
    Unnamed unnamed{.external = last.external,
                    .other = last.other,
                    .unknown_stack = 0,
                    .paused = last.paused,
                    .exited = -last.bytes};
    if (const auto found = spaces_.find(last.space); found != spaces_.end()) {
        unnamed.other += found->second.folded;
        for (const StackId id : found->second.stacks) {
            const Stack& stack = stacks_[id];
            if (!stack.site)
                unnamed.unknown_stack += stack.resident;
            else if (stack.resident != 0)
                keep(stack.site, holder, found->second.process.pid, stack.resident);
            stacks_.erase(id);
            gone.push_back(id);
        }
        spaces_.erase(found);
    }
    for (const std::string& target : holder.targets) {
        Unnamed& past = past_unnamed_[target];
        past.external += unnamed.external;
        past.other += unnamed.other;
        past.unknown_stack += unnamed.unknown_stack;
        past.paused += unnamed.paused;
        past.exited += unnamed.exited;
    }
    fold_past();
    std::erase_if(sites_, [](const CallSitePtr& site) { return site.use_count() == 1; });
    return gone;
}

// The smallest half loses its names.
void GrowthBook::fold_past() {
    if (past_.size() <= kMostPast) return;
    std::vector<std::map<PastKey, Past>::iterator> by_size;
    for (auto it = past_.begin(); it != past_.end(); ++it) by_size.push_back(it);
    std::sort(by_size.begin(), by_size.end(),
              [](const auto& a, const auto& b) { return std::abs(a->second.bytes) < std::abs(b->second.bytes); });
    by_size.resize(by_size.size() / 2);
    for (const auto& it : by_size) {
        past_unnamed_[it->first.target].other += it->second.bytes;
        past_.erase(it);
    }
}

std::map<pid_t, std::uint32_t> GrowthBook::fold(std::size_t most, const Take& take) {
    std::map<pid_t, std::uint32_t> lost;
    if (stacks_.size() <= most) return lost;
    std::vector<std::pair<std::int64_t, StackId>> by_size;
    for (const auto& [id, stack] : stacks_) by_size.emplace_back(std::abs(stack.resident), id);
    std::sort(by_size.begin(), by_size.end());
    by_size.resize(by_size.size() / 2);
    for (const auto& [size, id] : by_size) {
        const auto taken = take(id);
        if (!taken) continue;
        Space& space = spaces_[stacks_[id].space];
        space.folded += *taken;
        space.stacks.erase(id);
        ++lost[space.process.pid];
        stacks_.erase(id);
    }
    std::erase_if(sites_, [](const CallSitePtr& site) { return site.use_count() == 1; });
    return lost;
}

std::vector<BookedGrowth> GrowthBook::resident(const std::string& target,
                                               const std::function<const RoleKey*(const ProcessId&)>& role_of) const {
    std::vector<BookedGrowth> booked;
    for (const auto& [id, stack] : stacks_) {
        if (!stack.site || stack.resident == 0) continue;
        const ProcessId& process = spaces_.at(stack.space).process;
        if (const RoleKey* role = role_of(process))
            booked.push_back({stack.site, process.pid, *role, stack.resident, true});
    }
    for (const auto& [key, past] : past_) {
        if (key.target != target) continue;
        std::int64_t bytes = past.bytes;  // with the first pid; the others are named
        for (const pid_t pid : past.pids) booked.push_back({key.site, pid, key.role, std::exchange(bytes, 0), false});
    }
    return booked;
}

const CallSitePtr* GrowthBook::site_of(StackId stack) const {
    const auto found = stacks_.find(stack);
    return found == stacks_.end() || !found->second.site ? nullptr : &found->second.site;
}

GrowthBook::Unnamed GrowthBook::past(const std::string& target) const {
    const auto found = past_unnamed_.find(target);
    return found == past_unnamed_.end() ? Unnamed{} : found->second;
}

GrowthBook::Unnamed GrowthBook::folded(const ProcessId& process) const {
    Unnamed sum;
    for (const auto& [id, space] : spaces_) {
        if (space.process.pid != process.pid) continue;
        sum.other += space.folded;
        for (const StackId stack : space.stacks)
            if (const Stack& its = stacks_.at(stack); !its.site) sum.unknown_stack += its.resident;
    }
    return sum;
}

}  // namespace memscope
