#include "view/terminal.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "view/curses.h"
#include "view/terminfo.h"

namespace memscope::view {
namespace {

constexpr int kDeadly[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGQUIT};

// Plain memory, because a signal handler reads it.
struct Rescued {
    std::atomic<bool> armed = false;
    int fd = -1;
    termios modes{};
    char farewell[256]{};
    std::size_t length = 0;
    struct sigaction before[std::size(kDeadly)]{};
};
Rescued rescued;  // NOLINT(readability-identifier-naming): no constant

void put_back() {  // only calls that are safe in a signal handler
    if (!rescued.armed.exchange(false)) return;
    [[maybe_unused]] const auto ignored = ::write(rescued.fd, rescued.farewell, rescued.length);
    ::tcsetattr(rescued.fd, TCSANOW, &rescued.modes);
}

void put_back_and_die(int number) {
    put_back();
    for (std::size_t i = 0; i < std::size(kDeadly); ++i)
        if (kDeadly[i] == number) ::sigaction(number, &rescued.before[i], nullptr);
    ::raise(number);  // delivered when the handler returns
}

}  // namespace

Rescue::Rescue(int fd, const termios& modes, const std::string& farewell) {
    static const int kOnce = std::atexit(put_back);
    (void)kOnce;
    rescued.fd = fd;
    rescued.modes = modes;
    rescued.length = std::min(farewell.size(), sizeof rescued.farewell);
    std::memcpy(rescued.farewell, farewell.data(), rescued.length);
    struct sigaction action{};
    action.sa_handler = put_back_and_die;
    for (std::size_t i = 0; i < std::size(kDeadly); ++i) ::sigaction(kDeadly[i], &action, &rescued.before[i]);
    rescued.armed = true;
}

Rescue::~Rescue() {
    rescued.armed = false;
    for (std::size_t i = 0; i < std::size(kDeadly); ++i) ::sigaction(kDeadly[i], &rescued.before[i], nullptr);
}

namespace {

constexpr std::size_t kPolledBytes = 256;  // a terminal accepts about this much when poll() reports it as writable

bool writable(int fd, int timeout_ms) {
    pollfd terminal{.fd = fd, .events = POLLOUT, .revents = 0};
    return ::poll(&terminal, 1, timeout_ms) > 0;
}

}  // namespace

Result<TtyWriter> TtyWriter::open(int fd) {
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    Fd own(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
    if (own) return TtyWriter(std::move(own), true);
    Fd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));  // a terminal of another user: we may write to it, but not open it
    if (!copy) return system_error(errno, "write to the terminal");
    return TtyWriter(std::move(copy), false);
}

void TtyWriter::push() {
    std::size_t done = 0;
    while (done < pending_.size() && !hung_up_) {
        if (!own_ && !writable(fd_.get(), 0)) break;
        const std::size_t most = own_ ? pending_.size() - done : std::min(pending_.size() - done, kPolledBytes);
        const auto n = ::write(fd_.get(), pending_.data() + done, most);
        if (n > 0)
            done += static_cast<std::size_t>(n);
        else if (n < 0 && errno == EINTR)
            continue;
        else if (n < 0 && errno != EAGAIN)
            hung_up_ = true;
        else
            break;
    }
    pending_.erase(0, done);
    if (hung_up_) pending_.clear();
}

bool TtyWriter::idle() {
    push();
    return pending_.empty();
}

void TtyWriter::write(const std::string& bytes) {
    pending_ += bytes;
    push();
}

void TtyWriter::finish(int patience_ms) {
    for (push(); !pending_.empty() && writable(fd_.get(), patience_ms);) {
        const std::size_t before = pending_.size();
        push();
        if (pending_.size() == before) break;
    }
}

namespace {

constexpr int kFarewellMs = 500;  // timeout for writing the last bytes to a slow terminal

// Keys are read one by one and without echo. Ctrl-C stays a signal. Ctrl-S and Ctrl-Z are keys: Ctrl-S would freeze the
// screen, and before Ctrl-Z stops the program, the terminal must be restored.
termios view_modes(termios modes) {
    modes.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | IEXTEN);
    modes.c_iflag &= ~static_cast<tcflag_t>(IXON);
    modes.c_oflag &= ~static_cast<tcflag_t>(OPOST);  // ncurses draws into memory and expects a plain newline
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
        if (!writer_.idle()) return;  // the previous frame is not written yet; the next tick draws again
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
        ::raise(SIGTSTP);  // signals this thread, so the thread stops here
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
    // A background process that changes its terminal would be stopped (SIGTTOU).
    if (::tcgetpgrp(in) != ::getpgrp()) return plain_error("runs in the background of its terminal");
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
