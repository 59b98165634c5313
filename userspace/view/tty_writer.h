#pragma once
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace memscope::view {

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

}  // namespace memscope::view
