#pragma once
#include "outputs/heartbeat.h"
#include "watch/service_notifier.h"
#include "watch/wakeups.h"

namespace memscope {

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
