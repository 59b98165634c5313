#include "watch/growth/python_watch.h"

#include <algorithm>
#include <sys/timerfd.h>

#include "base/result.h"
#include "watch/clock.h"

namespace memscope {
namespace {

constexpr std::uint64_t kPatienceNs = 3'000'000'000;
constexpr long kAgainNs = 10'000'000;
// Times until the next check of a process that has no CPython mapped. The dynamic loader may not have mapped it yet, or
// a program that embeds Python loads it later.
constexpr std::uint64_t kWithoutNs[] = {20'000'000, 200'000'000, 800'000'000, 2'000'000'000};
constexpr std::size_t kMostWaiting = 4096;
constexpr std::size_t kMostPerTurn = 32;  // a check costs about 0.1 ms

}  // namespace

PythonWatch::PythonWatch(Calls calls, bool on)
    : calls_(std::move(calls)), on_(on), timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {}

// A failure of set_python() is not handled: the process then has native stacks only.
PythonWatch::PythonWatch(std::shared_ptr<ReadHelpers> reads, GrowthStacks& stacks, bool on)
    : PythonWatch(
          {.ask = [reads](const PythonJob& job) { return reads->quick.ask(job); },
           .space_of =
               [&stacks](pid_t pid) {
                   const auto space = stacks.read_space(pid);
                   return space ? std::optional(space->space) : std::nullopt;
               },
           .set_python = [&stacks](pid_t pid, const ms_python& layout) { (void)stacks.set_python(pid, layout); }},
          on) {}

void PythonWatch::arm(bool on) {
    if (std::exchange(armed_, on) == on) return;
    const timespec step{.tv_sec = 0, .tv_nsec = on ? kAgainNs : 0};
    const itimerspec timer{.it_interval = step, .it_value = step};
    (void)::timerfd_settime(timer_.get(), 0, &timer, nullptr);  // on failure the next tick checks again
}

// Takes the result of the check that is under way, if it has arrived. Starts a check if none is under way.
bool PythonWatch::is_over(Waiting& waiting, std::uint64_t now_ns) {
    if (now_ns < waiting.due_ns) return false;
    if (waiting.number == 0) waiting.number = ++numbers_;
    const auto search = calls_.ask(PythonJob{.pid = waiting.process.pid, .number = waiting.number});
    if (!search) return false;
    if (waiting.space != calls_.space_of(waiting.process.pid)) {
        // The process has executed another program, and the answer can be of the previous program.
        waiting = begun(waiting.process);
        return false;
    }
    waiting.number = 0;
    waiting.at_tick = !*search && is_retryable(search->error());
    if (!*search) return !waiting.at_tick;
    if (!std::exchange(waiting.answered, true)) waiting.until_ns = now_ns + kPatienceNs;
    if ((*search)->outcome == PythonSearch::Outcome::found) calls_.set_python(waiting.process.pid, (*search)->layout);
    if ((*search)->outcome == PythonSearch::Outcome::none && waiting.without < std::size(kWithoutNs)) {
        waiting.at_tick = waiting.without > 0;  // the timer is not kept for the later checks
        waiting.due_ns = now_ns + kWithoutNs[waiting.without++];
        waiting.answered = false;
        return false;
    }
    return (*search)->outcome != PythonSearch::Outcome::starting || now_ns >= waiting.until_ns;
}

void PythonWatch::check(const ProcessId& process) {
    if (!on_ || waiting_.size() >= kMostWaiting) return;
    Waiting waiting = begun(process);
    if (is_over(waiting, read_clock().boot_ns)) {
        waiting_.erase(process.pid);
        return;
    }
    waiting_[process.pid] = waiting;
    if (!waiting.at_tick) arm(true);
}

void PythonWatch::check_waiting() {
    std::uint64_t expirations = 0;
    [[maybe_unused]] const auto ignored = ::read(timer_.get(), &expirations, sizeof expirations);
    const std::uint64_t now = read_clock().boot_ns;
    std::size_t checked = 0;
    auto at = waiting_.lower_bound(next_);
    for (std::size_t left = waiting_.size(); left > 0 && checked < kMostPerTurn; --left) {
        if (at == waiting_.end()) at = waiting_.begin();
        if (now >= at->second.due_ns) ++checked;
        const bool over = is_over(at->second, now);
        at = over ? waiting_.erase(at) : std::next(at);
    }
    next_ = at == waiting_.end() ? 0 : at->first;
    arm(std::ranges::any_of(waiting_, [](const auto& each) { return !each.second.at_tick; }));
}

}  // namespace memscope
