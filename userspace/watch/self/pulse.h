#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/units.h"
#include "watch/wakeups.h"

namespace memscope {

// Detects that ticks have stopped. The watch loop beats at every tick; HTTP threads and the watchdog of the service
// check it. The caller passes times, in nanoseconds of any clock that does not jump.
class Heartbeat {
  public:
    // Longer than a tick takes on a machine that swaps, and longer than the time between a few ticks.
    static Seconds bound_for(Seconds interval) { return std::max(Seconds{10}, 5 * interval); }
    explicit Heartbeat(Seconds interval) : bound_(bound_for(interval)) {}

    void beat(std::uint64_t now_ns) { last_ns_ = now_ns; }
    // Watching has ended and the snapshot does not change any more, so missing beats are not reported from now on.
    void rest() { resting_ = true; }

    // A sentence if there has been no beat for too long. `nullopt` before the first beat, because the start of memscope
    // may take any time.
    std::optional<std::string> trouble(std::uint64_t now_ns) const;

  private:
    Seconds bound_;
    std::atomic<std::uint64_t> last_ns_ = 0;
    std::atomic<bool> resting_ = false;
};

// Sends the state of memscope to the service manager, as sd_notify(3) does. Without a service manager it does nothing.
class ServiceNotifier {
  public:
    // Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID and removes them from the environment, because the commands
    // that memscope starts must not see them.
    static ServiceNotifier from_environment();
    ServiceNotifier() = default;
    ServiceNotifier(std::string address, std::optional<Seconds> watchdog);

    bool exists() const { return !address_.empty(); }  // whether a service manager started this process
    void say(std::string_view state) const;            // "READY=1"; does not wait
    // The interval for "WATCHDOG=1", short enough that a late message does no harm. `nullopt`: there is no watchdog.
    std::optional<Seconds> watchdog_every() const;

  private:
    std::string address_{};
    std::optional<Seconds> watchdog_{};
    Fd socket_{};
};

// Reports that ticks continue: to the HTTP servers by the heartbeat, to the service manager by messages. Belongs to the
// thread of the ticks: if that thread is blocked, the service manager gets no message and restarts memscope.
class Pulse {
  public:
    Pulse(ServiceNotifier service, Heartbeat& heartbeat) : service_(std::move(service)), heartbeat_(&heartbeat) {}

    Status start(Wakeups& wakeups) const;  // requests Wake::watchdog as often as notify_watchdog() must be called
    void ready() const { service_.say("READY=1"); }
    void ticked() const;
    void notify_watchdog() const;
    void rest() const { heartbeat_->rest(); }  // watching is over, so missing ticks are not reported
    void stopping() const;
    // Waits as Wakeups::stopped_within() does, and keeps sending "WATCHDOG=1".
    bool stopped_within(Wakeups& wakeups, Seconds time, int fd = -1) const;

  private:
    ServiceNotifier service_;
    Heartbeat* heartbeat_;
};

}  // namespace memscope
