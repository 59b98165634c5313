#include "watch/pulse.h"

#include <algorithm>

#include "watch/clock.h"

namespace memscope {
namespace {

Seconds now() { return std::chrono::nanoseconds(read_clock().boot_ns); }

}  // namespace

Status Pulse::start(Wakeups& wakeups) const {
    const auto every = service_.alive_every();
    return every ? wakeups.say_alive_every(*every) : Done{};
}

void Pulse::ticked() const { heartbeat_->beat(read_clock().boot_ns); }

void Pulse::say_alive() const {
    if (!heartbeat_->trouble(read_clock().boot_ns)) service_.say("WATCHDOG=1");
}

void Pulse::stopping() const {
    heartbeat_->rest();
    service_.say("STOPPING=1");
}

bool Pulse::stopped_within(Wakeups& wakeups, Seconds time, int fd) const {
    const Seconds until = now() + time;
    for (;;) {
        say_alive();
        const Seconds began = now();
        const Seconds left = std::max(until - began, Seconds{0});
        const Seconds step = std::min(left, service_.alive_every().value_or(left));
        if (wakeups.stopped_within(step, fd)) return true;
        const bool is_readable = now() - began < step;  // `fd`
        if (is_readable || now() >= until) return false;
    }
}

}  // namespace memscope
