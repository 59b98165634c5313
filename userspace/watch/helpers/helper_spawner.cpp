#include "watch/helpers/helper_spawner.h"

#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "watch/helpers/child_process.h"
#include "watch/helpers/message.h"

namespace memscope {
namespace {

// Starts a new session, and replaces the standard streams by /dev/null. A helper can outlive the watcher, and a process
// that reads the output of the watcher waits until every process has closed that output.
void detach_from_session() {
    ::setsid();  // signals of the terminal must not end a helper
    (void)!::chdir("/");
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0) ::_exit(1);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (null != fd) ::dup2(null, fd);
    if (null > STDERR_FILENO) ::close(null);
}

// Ignores signals, because a service manager signals every process of a service, but only the watcher may end its
// helpers.
void ignore_signals() {
    sigset_t none;
    ::sigemptyset(&none);
    for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE, SIGWINCH})
        std::signal(number, SIG_IGN);
    std::signal(SIGCHLD, SIG_IGN);  // ended helpers do not become zombies
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void end_with_parent(pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (::getppid() != parent) ::_exit(0);
}

[[noreturn]] void be_spawner(Fd control, const HelperSpawner::Work& work, pid_t watcher) {
    const Fd own = close_other_descriptors(std::move(control));
    detach_from_session();
    ignore_signals();
    ::prctl(PR_SET_NAME, "memscope-spawn", 0, 0, 0);
    if (work.prepare) work.prepare();
    end_with_parent(watcher);  // after dropping privileges, which can clear the setting
    const pid_t self = ::getpid();
    for (;;) {
        auto message = receive_message(own, 0);
        if (!message) ::_exit(0);  // the watcher has ended
        if (message->fds.size() != 1 || message->text.size() != 1) continue;
        Fd socket = std::move(message->fds.front());
        if (::fork() != 0) continue;  // if it fails, the watcher sees a closed socket
        socket = close_other_descriptors(std::move(socket));
        const auto helper = static_cast<HelperSpawner::Helper>(message->text.front());
        const bool holds = helper == HelperSpawner::Helper::probe_holder;
        const bool reads_heaps = helper == HelperSpawner::Helper::heap_reader;
        ::prctl(PR_SET_NAME, holds ? "memscope-probes" : reads_heaps ? "memscope-heap" : "memscope-read", 0, 0, 0);
        if (!holds) end_with_parent(self);
        (holds ? work.hold_probes : reads_heaps ? work.read_heaps : work.serve)(std::move(socket));
        ::_exit(0);
    }
}

}  // namespace

Result<std::shared_ptr<HelperSpawner>> HelperSpawner::start(Work work) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return system_error(errno, "socketpair");
    Fd ours(ends[0]);
    Fd theirs(ends[1]);
    const pid_t watcher = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) return system_error(errno, "fork");
    if (pid == 0) {
        ours = Fd();
        be_spawner(std::move(theirs), work, watcher);
    }
    return std::shared_ptr<HelperSpawner>(new HelperSpawner(std::move(ours), pid));
}

HelperSpawner::~HelperSpawner() {
    ::kill(pid_, SIGKILL);
    (void)::waitpid(pid_, nullptr, 0);  // returns at once, because the spawner waits for nothing but this socket
}

bool HelperSpawner::is_alive() const {
    pollfd control{control_.get(), 0, 0};  // POLLHUP is always reported
    return ::poll(&control, 1, 0) != 1;
}

Result<Fd> HelperSpawner::spawn(Helper helper) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return system_error(errno, "socketpair");
    Fd ours(ends[0]);
    const Fd theirs(ends[1]);
    const std::lock_guard lock(mutex_);
    const int passed[] = {theirs.get()};
    const char kind = static_cast<char>(helper);
    switch (send_message(control_, {&kind, 1}, {}, passed, MSG_DONTWAIT)) {
        case SendOutcome::sent:
            return ours;
        case SendOutcome::full:
            return system_error(EAGAIN, "start a helper process");
        case SendOutcome::closed:
            return plain_error("the process that starts helpers has ended");
        case SendOutcome::failed:
            break;
    }
    return system_error(errno, "start a helper process");
}

}  // namespace memscope
