#pragma once
#include <memory>
#include <optional>
#include <string>
#include <termios.h>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "view/keys.h"
#include "view/line.h"
#include "view/screen.h"

namespace memscope::view {

// While it lives, a program that crashes, aborts or calls exit() puts the terminal back before it dies. One at a time.
class Rescue {
  public:
    Rescue(int fd, const termios& modes, const std::string& farewell);  // the fd stays the caller's
    Rescue(const Rescue&) = delete;
    Rescue& operator=(const Rescue&) = delete;
    ~Rescue();
};

// Writes to a terminal without ever waiting for it: a frozen ssh session or Ctrl-S must not stop the watcher.
// O_NONBLOCK belongs to the open file, which the user's shell shares, so the terminal is opened anew.
class TtyWriter {
  public:
    static Result<TtyWriter> open(int fd);

    bool idle();                           // all that was given is written, or is now
    void write(const std::string& bytes);  // what does not go through at once goes before what comes next
    void finish(int patience_ms);          // the last words, for a terminal that is slow
    bool hung_up() const { return hung_up_; }

  private:
    TtyWriter(Fd fd, bool own) : fd_(std::move(fd)), own_(own) {}
    void push();

    Fd fd_;
    bool own_;  // opened by us, not waiting
    std::string pending_{};
    bool hung_up_ = false;
};

// The terminal while the view is on it; what it was before comes back with the destructor, or a crash.
class Terminal {
  public:
    // Error: no terminal, a dumb or unknown one, one that we are in the background of, no UTF-8.
    static Result<std::unique_ptr<Terminal>> open(int in, int out);
    virtual ~Terminal() = default;

    virtual Look look() = 0;  // asks for the size each time
    virtual void draw(const std::vector<Line>& lines) = 0;
    virtual void repaint() = 0;  // the next draw draws everything
    virtual std::optional<Key> read_key() = 0;
    virtual bool hung_up() = 0;
    virtual void suspend() = 0;  // Ctrl-Z; returns when the shell brings us back
    virtual int input_fd() const = 0;
};

}  // namespace memscope::view
