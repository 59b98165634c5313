#include "watch/actions/action_queue.h"

namespace memscope {
namespace {

// Enough for all precursors of a target at once and a few deaths.
constexpr double kMostOfTarget = 16;
constexpr Seconds kEachOfTarget = std::chrono::seconds(30);

}  // namespace

bool ActionQueue::offer(PendingAction action, Seconds now) {
    if (waiting_.size() >= kMostWaiting) return false;
    TokenBucket& of_target = of_target_.try_emplace(action.target, kMostOfTarget, kEachOfTarget).first->second;
    if (!of_target.may(now) || !of_all_.may(now)) return false;
    of_target.take();
    of_all_.take();
    action.request.id = ++last_id_;
    waiting_.push_back(std::move(action));
    return true;
}

std::optional<PendingAction> ActionQueue::next() {
    if (waiting_.empty() || running_.size() >= kMostAtOnce) return std::nullopt;
    PendingAction action = std::move(waiting_.front());
    waiting_.pop_front();
    running_.emplace(action.request.id, action);
    return action;
}

std::optional<PendingAction> ActionQueue::end(std::uint32_t id) {
    auto found = running_.extract(id);
    return found.empty() ? std::nullopt : std::optional(std::move(found.mapped()));
}

std::vector<PendingAction> ActionQueue::give_up() {
    std::vector<PendingAction> all;
    all.reserve(running_.size() + waiting_.size());
    for (auto& [id, action] : running_) all.push_back(std::move(action));
    for (PendingAction& action : waiting_) all.push_back(std::move(action));
    running_.clear();
    waiting_.clear();
    return all;
}

void ActionQueue::forget_others_than(const std::set<std::string>& targets) {
    std::erase_if(of_target_, [&](const auto& each) { return !targets.contains(each.first); });
}

}  // namespace memscope
