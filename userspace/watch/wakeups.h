#pragma once
#include "base/fd.h"
#include "base/result.h"
#include "base/units.h"

namespace memscope {

enum class Wake { tick, events, keys, resize, stop, command_ended, action_ended, alive };

struct Signal {
    int number = 0;
    bool from_terminal = false;  // Ctrl-C: the whole foreground group has had it
};

// What the loop waits for: the next tick, events of the kernel, a signal that ends it (SIGINT, SIGTERM, SIGHUP).
class Wakeups {
  public:
    // Blocks those signals for the calling thread and all it starts from now on: call it first. With a command also
    // those that are only passed on to it (SIGQUIT, SIGUSR1, SIGUSR2).
    static Result<Wakeups> open(bool for_command = false);

    Status watch_events(int fd);
    Status watch_command(int ended_fd);
    Status watch_actions(int fd);
    Status watch_terminal(int keys);                  // and its size
    const Signal& signal() const { return signal_; }  // the one that woke us as a stop
    Status tick_every(Seconds interval);
    Status say_alive_every(Seconds interval);  // for a service's watchdog, which may be shorter than an interval
    Wake wait();                               // a stop before a tick, a tick before keys, keys before events
    // Waits that long for a stop alone, or for a descriptor: false if there is something to read.
    bool stopped_within(Seconds time, int fd = -1);

  private:
    Wakeups(Fd epoll, Fd signals, Fd timer)
        : epoll_(std::move(epoll)), signals_(std::move(signals)), timer_(std::move(timer)) {}

    Fd epoll_;
    Fd signals_;
    Fd timer_;
    Fd resizes_{};
    Fd alive_{};
    Signal signal_{};
};

}  // namespace memscope
