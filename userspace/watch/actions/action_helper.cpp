#include "watch/actions/action_helper.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kernel/capabilities.h"
#include "watch/actions/action_process.h"
#include "watch/actions/action_queue.h"
#include "watch/clock.h"
#include "watch/helpers/child_process.h"

namespace memscope {
namespace {

Seconds now() { return std::chrono::nanoseconds(read_clock().boot_ns); }

int milliseconds_until(std::optional<Seconds> when) {
    if (!when) return -1;
    return static_cast<int>(std::clamp(std::ceil((*when - now()).count() * 1000), 0.0, 3.6e6));
}

void arrange_output(bool silent) {
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0) return;
    ::dup2(null, STDIN_FILENO);
    if (silent || ::fcntl(STDERR_FILENO, F_GETFD) < 0) ::dup2(null, STDERR_FILENO);
    if (null > STDERR_FILENO) ::close(null);
    ::dup2(STDERR_FILENO, STDOUT_FILENO);  // standard output is for the output of memscope only
}

// Lowers the ambient capabilities that memscope needs for watching, so that the commands do not inherit them. Other
// ambient capabilities of the service stay.
void lower_ambient_capabilities() {
    for (const CapabilityUse& use : capability_uses())
        (void)::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_LOWER, use.number, 0, 0);
}

Fd receive_signals() {
    sigset_t wanted;
    ::sigemptyset(&wanted);
    for (const int number : {SIGCHLD, SIGTERM}) ::sigaddset(&wanted, number);
    ::sigprocmask(SIG_SETMASK, &wanted, nullptr);
    for (const int number : {SIGPIPE, SIGINT, SIGHUP, SIGQUIT}) std::signal(number, SIG_DFL);
    return Fd(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
}

class Helper {
  public:
    Helper(Fd socket, Fd signals, const ActionCommands& commands)
        : socket_(std::move(socket)), signals_(std::move(signals)), commands_(commands) {}

    void run() {
        while (!ending_) {
            wait(true, next_due());
            settle();
        }
        for (ActionProcess& process : running_) process.ask_to_end();
        const Seconds until = now() + ActionProcess::kGrace;
        while (!running_.empty() && now() < until) {
            wait(false, until);
            settle();
        }
        for (ActionProcess& process : running_) process.kill_now();
    }

  private:
    std::optional<Seconds> next_due() const {
        std::optional<Seconds> next;
        for (const ActionProcess& process : running_)
            if (const auto due = process.due(); due && (!next || *due < *next)) next = due;
        return next;
    }

    void wait(bool for_requests, std::optional<Seconds> until) {
        pollfd fds[] = {{signals_.get(), POLLIN, 0}, {for_requests ? socket_.get() : -1, POLLIN, 0}};
        if (::poll(fds, std::size(fds), milliseconds_until(until)) < 0) return;
        signalfd_siginfo info{};
        while (::read(signals_.get(), &info, sizeof info) == sizeof info)
            ending_ = ending_ || info.ssi_signo == SIGTERM;
        if (fds[1].revents != 0) take_request();
    }

    void take_request() {
        buffer_.resize(kMostRequestBytes + 1);
        const ssize_t n = ::recv(socket_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) ending_ = true;  // the watcher has ended
        if (n <= 0) return;
        const auto request = decode_request(std::string_view(buffer_.data(), static_cast<std::size_t>(n)));
        if (!request) {
            ending_ = true;  // our watcher never sends such a message
            return;
        }
        const auto& words = commands_.of(request->event);
        if (words.empty() || running_.size() >= ActionQueue::kMostAtOnce) return reply({.id = request->id});
        auto started = ActionProcess::start(words, *request, now(), commands_.timeout);
        if (started)
            running_.push_back(std::move(*started));
        else
            reply({request->id, ActionReply::How::not_started, started.error().code.value()});
    }

    void settle() {
        const Seconds time = now();
        for (auto process = running_.begin(); process != running_.end();) {
            process->enforce(time);
            const auto ended = process->ended();
            if (ended) reply(*ended);
            process = ended ? running_.erase(process) : process + 1;
        }
    }

    // The socket buffer has room for the replies to all commands that can run at the same time.
    void reply(const ActionReply& answer) const {
        (void)::send(socket_.get(), &answer, sizeof answer, MSG_DONTWAIT | MSG_NOSIGNAL);
    }

    Fd socket_;
    Fd signals_;
    const ActionCommands& commands_;
    std::string buffer_{};
    std::vector<ActionProcess> running_{};
    bool ending_ = false;
};

}  // namespace

void be_action_helper(Fd socket, const ActionCommands& commands, pid_t watcher) {
    Fd own = close_other_descriptors(std::move(socket));
    ::setsid();  // no signals from the terminal
    ::prctl(PR_SET_NAME, "memscope-act", 0, 0, 0);
    arrange_output(commands.silent);
    if (commands.identity && !become(*commands.identity)) ::_exit(1);
    lower_ambient_capabilities();
    Fd signals = receive_signals();
    ::prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);  // after the change of user, which clears it
    if (!signals || ::getppid() != watcher) ::_exit(1);
    Helper(std::move(own), std::move(signals), commands).run();
    ::_exit(0);
}

}  // namespace memscope
