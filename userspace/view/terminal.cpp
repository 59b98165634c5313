#include "view/terminal.h"

#include <csignal>
#include <cstdlib>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "view/curses.h"
#include "view/rescue.h"
#include "view/terminfo.h"
#include "view/tty_writer.h"

namespace memscope::view {
namespace {

constexpr int kFarewellMs = 500;  // for a slow terminal to take the last bytes

// Keys come one by one and unseen; Ctrl-C still is a signal. Ctrl-S and Ctrl-Z are keys: the first would freeze the
// picture, the second must give the terminal back before it stops us.
termios view_modes(termios modes) {
    modes.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | IEXTEN);
    modes.c_iflag &= ~static_cast<tcflag_t>(IXON);
    modes.c_oflag &= ~static_cast<tcflag_t>(OPOST);  // ncurses draws into memory and counts on a newline being one
    modes.c_cc[VMIN] = 1;
    modes.c_cc[VTIME] = 0;
    modes.c_cc[VSUSP] = _POSIX_VDISABLE;
    return modes;
}

class CursesTerminal : public Terminal {
  public:
    CursesTerminal(int in, int out, const termios& before, TtyWriter writer, std::unique_ptr<Curses> curses)
        : in_(in),
          out_(out),
          before_(before),
          writer_(std::move(writer)),
          curses_(std::move(curses)),
          rescue_(in, before, farewell_sequence()) {
        set_modes();
    }
    CursesTerminal(const CursesTerminal&) = delete;
    CursesTerminal& operator=(const CursesTerminal&) = delete;
    ~CursesTerminal() override { leave(); }

    Look look() override {
        winsize size{};
        if (::ioctl(out_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) size = {24, 80, 0, 0};
        return {size.ws_col, size.ws_row, curses_->colour()};
    }

    void draw(const std::vector<Line>& lines) override {
        if (!writer_.idle()) return;  // the picture before is still on its way: the next tick draws again
        const Look now = look();
        curses_->resize(now.width, now.height);
        writer_.write(curses_->draw(lines));
    }

    void repaint() override { curses_->repaint(); }

    std::optional<Key> read_key() override { return curses_->read_key(); }

    bool hung_up() override {
        pollfd input{.fd = in_, .events = POLLIN, .revents = 0};
        return writer_.hung_up() || (::poll(&input, 1, 0) > 0 && (input.revents & (POLLHUP | POLLERR)) != 0);
    }

    void suspend() override {
        leave();
        ::raise(SIGTSTP);  // to this thread: it stops here, not some lines later
        set_modes();
        curses_->repaint();
    }

    int input_fd() const override { return in_; }

  private:
    void set_modes() {
        const termios modes = view_modes(before_);
        ::tcsetattr(in_, TCSANOW, &modes);
    }

    void leave() {
        writer_.write(curses_->leave());
        writer_.finish(kFarewellMs);
        ::tcsetattr(in_, TCSANOW, &before_);
    }

    int in_;
    int out_;
    termios before_;
    TtyWriter writer_;
    std::unique_ptr<Curses> curses_;
    Rescue rescue_;
};

}  // namespace

Result<std::unique_ptr<Terminal>> Terminal::open(int in, int out) {
    termios before{};
    if (::tcgetattr(in, &before) != 0 || ::isatty(out) == 0) return plain_error("not on a terminal");
    // To touch a terminal from its background would stop the program.
    if (::tcgetpgrp(in) != ::getpgrp()) return plain_error("in the background of its terminal");
    if (auto able = check_terminal_type(std::getenv("TERM"), out); !able) return able.error();
    if (auto utf8 = use_utf8(); !utf8) return utf8.error();
    auto writer = TtyWriter::open(out);
    if (!writer) return writer.error();
    auto curses = Curses::open(in);
    if (!curses) return curses.error();
    return std::unique_ptr<Terminal>(
        std::make_unique<CursesTerminal>(in, out, before, std::move(*writer), std::move(*curses)));
}

}  // namespace memscope::view
