#include "analysis/hook_budget.h"

#include <algorithm>

namespace memscope {
namespace {

constexpr Seconds kWindow{60};  // growth comes in bursts: a start, a validation
constexpr Seconds kLongestPause{600};
constexpr Seconds kNegligible{0.05};  // a window in which it cost less than that tells nothing

}  // namespace

HookBudget::Advice HookBudget::consider(Seconds now, Seconds hook, const std::function<Seconds()>& watched) {
    if (is_off()) {
        if (now < off_until_) return Advice::stay;
        off_until_ = Seconds{0};
        window_began_ = Seconds{-1};
        return Advice::put_back;
    }
    if (window_began_ < Seconds{0}) {
        window_began_ = now;
        hook_then_ = hook;
        watched_then_ = watched();
    }
    if (now - window_began_ < kWindow) return Advice::stay;
    const Seconds cost = hook - hook_then_;
    const Seconds used_now = watched();
    // Processes that end take their time with them: the sum may fall.
    const Seconds used = std::max(used_now - watched_then_, Seconds{0});
    window_began_ = now;
    hook_then_ = hook;
    watched_then_ = used_now;
    if (cost < kNegligible || cost <= share_ * used) {
        next_pause_ = std::max(next_pause_ / 2, Seconds{60});
        return Advice::stay;
    }
    off_until_ = now + next_pause_;
    next_pause_ = std::min(next_pause_ * 2, kLongestPause);
    return Advice::take_off;
}

}  // namespace memscope
