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

// While a Rescue exists, the terminal is restored if the program crashes, aborts or calls exit(). There can be only one
// at a time.
class Rescue {
  public:
    Rescue(int fd, const termios& modes, const std::string& farewell);  // the caller keeps ownership of the fd
    Rescue(const Rescue&) = delete;
    Rescue& operator=(const Rescue&) = delete;
    ~Rescue();
};

// Writes to a terminal and never blocks: a frozen ssh session or Ctrl-S must not stop the watcher.
// O_NONBLOCK belongs to the open file, which the user's shell shares, so the terminal is opened again.
class TtyWriter {
  public:
    static Result<TtyWriter> open(int fd);

    bool idle();                           // tries to write pending bytes; true if none are left
    void write(const std::string& bytes);  // keeps bytes that cannot be written now, and writes them first later
    void finish(int patience_ms);          // waits at most this long to write pending bytes
    bool hung_up() const { return hung_up_; }

  private:
    TtyWriter(Fd fd, bool own) : fd_(std::move(fd)), own_(own) {}
    void push();

    Fd fd_;
    bool own_;  // opened by us with O_NONBLOCK
    std::string pending_{};
    bool hung_up_ = false;
};

// The terminal while the view uses it. The destructor or a crash restores its previous state.
class Terminal {
  public:
    // Error: not a terminal, a dumb or unknown terminal, memscope runs in the background of the terminal, or there is
    // no UTF-8 locale.
    static Result<std::unique_ptr<Terminal>> open(int in, int out);
    virtual ~Terminal() = default;

    virtual Look look() = 0;  // reads the size each time
    virtual void draw(const std::vector<Line>& lines) = 0;
    virtual void repaint() = 0;  // the next draw draws everything
    virtual std::optional<Key> read_key() = 0;
    virtual bool hung_up() = 0;
    virtual void suspend() = 0;  // Ctrl-Z; returns when the shell continues the program
    virtual int input_fd() const = 0;
};

}  // namespace memscope::view
