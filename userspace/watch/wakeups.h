#pragma once
#include "base/fd.h"
#include "base/result.h"
#include "base/units.h"

namespace memscope {

enum class Wake {
    tick,
    events,
    output,
    keys,
    resize,
    stop,
    command_started,
    command_ended,
    action_ended,
    watchdog,
    reminder
};

struct Signal {
    int number = 0;
    bool from_terminal = false;  // Ctrl-C: the kernel sent it to the whole foreground process group
};

// Everything that the loop waits for, for example the next tick, events of the kernel, or a signal that ends the loop
// (SIGINT, SIGTERM, SIGHUP).
class Wakeups {
  public:
    // Blocks these signals for the calling thread and all threads that it starts later, so it must be called first.
    // With a command it also blocks the signals that are only passed on to the command (SIGQUIT, SIGUSR1, SIGUSR2).
    static Result<Wakeups> open(bool for_command = false);

    Status watch_events(int fd);
    // `started_fd` is watched until OwnCommand::take_start() closes it.
    Status watch_command(int started_fd, int ended_fd);
    Status watch_actions(int fd);
    Status watch_output(int fd);                      // when `fd` becomes writable; a file always is, so it is left out
    Status watch_terminal(int keys);                  // keys and changes of its size
    const Signal& signal() const { return signal_; }  // of the last Wake::stop
    Status tick_every(Seconds interval);
    Status notify_watchdog_every(
        Seconds interval);  // for a service's watchdog, whose timeout may be shorter than the interval
    // One Wake::reminder after `time`, or at once if `time` is negative. The next call replaces a reminder that has not
    // come yet.
    void remind_in(Seconds time);
    Wake wait();  // priority: stop, command_ended; events come last
    // Waits for a stop or until `fd` is readable, at most for `time`. True only for a stop.
    bool stopped_within(Seconds time, int fd = -1);

  private:
    Wakeups(Fd epoll, Fd signals, Fd timer, Fd reminder)
        : epoll_(std::move(epoll)),
          signals_(std::move(signals)),
          timer_(std::move(timer)),
          reminder_(std::move(reminder)) {}

    Fd epoll_;
    Fd signals_;
    Fd timer_;
    Fd reminder_;
    Fd resizes_{};
    Fd alive_{};
    Signal signal_{};
};

}  // namespace memscope
