#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/units.h"

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

}  // namespace memscope
