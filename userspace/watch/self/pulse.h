#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/units.h"
#include "outputs/http/heartbeat.h"
#include "watch/wakeups.h"

namespace memscope {

// Tells the service manager that started us how we are, as sd_notify(3) does. Where there is none it says nothing.
class ServiceNotifier {
  public:
    // From NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, which are taken out of the environment: they are not for the
    // commands that we start.
    static ServiceNotifier from_environment();
    ServiceNotifier() = default;
    ServiceNotifier(std::string address, std::optional<Seconds> watchdog);

    void say(std::string_view state) const;  // "READY=1"; does not wait
    // How often "WATCHDOG=1" is to be said, so that one that comes late does no harm; none: nobody waits for it.
    std::optional<Seconds> alive_every() const;

  private:
    std::string address_{};
    std::optional<Seconds> watchdog_{};
    Fd socket_{};
};

// Tells others that ticks go on: HTTP servers by the heartbeat, the service manager by messages. Belongs to the thread
// that ticks: if that is blocked the service manager hears nothing and starts memscope again.
class Pulse {
  public:
    Pulse(ServiceNotifier service, Heartbeat& heartbeat) : service_(std::move(service)), heartbeat_(&heartbeat) {}

    Status start(Wakeups& wakeups) const;  // asks for Wake::alive as often as say_alive() is needed
    void ready() const { service_.say("READY=1"); }
    void ticked() const;
    void say_alive() const;
    void rest() const { heartbeat_->rest(); }  // watching is over, what is shown stays as it is
    void stopping() const;
    // Waits as Wakeups::stopped_within() does, and goes on saying that all is well.
    bool stopped_within(Wakeups& wakeups, Seconds time, int fd = -1) const;

  private:
    ServiceNotifier service_;
    Heartbeat* heartbeat_;
};

}  // namespace memscope
