#include "analysis/growth/hook_budget.h"

#include <algorithm>

namespace memscope {
namespace {

constexpr double kLongestPause = 10;       // windows
constexpr double kShortest = 0.1;          // share of a window after which it may end early
constexpr double kNegligible = 0.05 / 60;  // share of a window; a lower cost is too small to be compared

}  // namespace

HookBudget::Advice HookBudget::consider(Seconds now, Seconds hook, const std::function<Seconds()>& watched) {
    if (is_off()) {
        if (now < off_until_) return Advice::stay;
        off_until_ = Seconds{0};
        window_began_ = Seconds{-1};
        return Advice::attach;
    }
    if (window_began_ < Seconds{0}) {
        window_began_ = now;
        hook_then_ = hook;
        watched_then_ = watched();
    }
    const Seconds cost = hook - hook_then_;
    const Seconds elapsed = now - window_began_;
    if (elapsed < window_ && cost < kNegligible * window_) return Advice::stay;
    const Seconds used_now = watched();
    // The CPU time of a process disappears when it exits, so the sum may fall.
    const Seconds used = std::max(used_now - watched_then_, Seconds{0});
    // Before the end of the window, `used` is extrapolated to the whole window: the cost is compared with the share of
    // `used * window_ / elapsed`.
    if (elapsed < window_ && (elapsed < kShortest * window_ || cost * (elapsed / window_) <= share_ * used))
        return Advice::stay;
    window_began_ = now;
    hook_then_ = hook;
    watched_then_ = used_now;
    if (cost < kNegligible * window_ || cost <= share_ * used) {
        next_pause_ = std::max(next_pause_ / 2, window_);
        return Advice::stay;
    }
    off_until_ = now + next_pause_;
    next_pause_ = std::min(next_pause_ * 2, kLongestPause * window_);
    return Advice::detach;
}

}  // namespace memscope
