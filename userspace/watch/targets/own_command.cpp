#include "watch/targets/own_command.h"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"

namespace memscope {
namespace {

std::optional<Identity> identity_of(const passwd* entry) {
    if (!entry) return std::nullopt;
    return Identity{entry->pw_uid, entry->pw_gid, entry->pw_name, entry->pw_dir};
}

// Why the command's process ended before it executed the command.
enum class StartStep : int { command, output };
struct StartFailure {
    int error = 0;
    StartStep step = StartStep::command;
};

[[noreturn]] void report(int failure_fd, int error, StartStep step = StartStep::command) {
    const StartFailure failure{error, step};
    [[maybe_unused]] const ssize_t written = ::write(failure_fd, &failure, sizeof failure);
    ::_exit(127);
}

// The process of the command opens the file with the rights of its user, as a shell of this user would do. memscope
// itself is root. A pipe without a reader is an error, because otherwise open() and memscope would wait for the reader.
bool send_output_to(const std::string& file) {
    const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    if (fd < 0) return false;
    const int flags = ::fcntl(fd, F_GETFL);
    return flags >= 0 && ::fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0 && ::dup2(fd, STDOUT_FILENO) >= 0;
}

[[noreturn]] void be_command(const std::vector<std::string>& argv, const std::optional<Identity>& identity,
                             const JobOutput& output, OwnCgroup& cgroup, int start_fd, int failure_fd) {
    std::signal(SIGPIPE, SIG_DFL);  // otherwise the command inherits that memscope ignores it
    if (!cgroup.enter()) report(failure_fd, EACCES);
    char go = 0;
    if (::read(start_fd, &go, 1) != 1) ::_exit(127);  // the watcher has ended
    if (identity && !become(*identity)) report(failure_fd, errno);
    if (output.file && !send_output_to(*output.file)) report(failure_fd, errno, StartStep::output);
    if (!output.file && output.to_standard_error && ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        report(failure_fd, errno, StartStep::output);
    std::vector<char*> words;
    words.reserve(argv.size() + 1);
    for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    ::execvp(words.front(), words.data());
    report(failure_fd, errno);
}

struct Pipe {
    Fd read;
    Fd write;
};
Result<Pipe> make_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return system_error(errno, "make a pipe");
    return Pipe{Fd(ends[0]), Fd(ends[1])};
}

}  // namespace

// Sets the groups before the user, because setuid() gives up the right to set groups.
bool become(const Identity& identity) {
    if (::initgroups(identity.name.c_str(), identity.gid) != 0) return false;
    if (::setgid(identity.gid) != 0 || ::setuid(identity.uid) != 0) return false;
    ::setenv("HOME", identity.home.c_str(), 1);
    ::setenv("USER", identity.name.c_str(), 1);
    ::setenv("LOGNAME", identity.name.c_str(), 1);
    return true;
}

Result<std::optional<Identity>> command_identity(const std::optional<std::string>& user) {
    if (user) {
        auto identity = identity_of(::getpwnam(user->c_str()));
        if (!identity) return plain_error("--user: there is no user '" + shortened(*user) + "'");
        return identity;
    }
    const char* const caller = std::getenv("SUDO_UID");
    const auto uid = caller ? parse_number(caller) : std::nullopt;
    if (!uid || *uid == 0) return std::optional<Identity>{};
    auto identity = identity_of(::getpwuid(static_cast<uid_t>(*uid)));
    if (!identity) return plain_error("the user who called sudo (uid " + std::to_string(*uid) + ") does not exist");
    return identity;
}

Result<OwnCommand> OwnCommand::prepare(const std::vector<std::string>& argv, const std::optional<Identity>& identity,
                                       OwnCgroup& cgroup, const JobOutput& output) {
    auto start = make_pipe();
    if (!start) return start.error();
    auto failure = make_pipe();
    if (!failure) return failure.error();
    const pid_t pid = ::fork();
    if (pid < 0) return system_error(errno, "fork");
    if (pid == 0) {
        start->write = Fd();
        be_command(argv, identity, output, cgroup, start->read.get(), failure->write.get());
    }
    Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    OwnCommand command(pid, std::move(pidfd), std::move(start->write), std::move(failure->read), output.file);
    if (!command.pidfd_) return system_error(errno, "open a pidfd of the command (pidfd_open)");
    return command;
}

OwnCommand::OwnCommand(OwnCommand&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::move(other.pidfd_)),
      start_(std::move(other.start_)),
      failure_(std::move(other.failure_)),
      output_(std::move(other.output_)),
      output_failed_(other.output_failed_) {}

OwnCommand::~OwnCommand() {
    if (pid_ < 0) return;
    start_ = Fd();  // a command that was not released ends when this pipe is closed
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
}

Status OwnCommand::release() {
    const char go = 1;
    // EPIPE is no error here: the process has ended already, and take_start() and exit_status() tell why.
    if (::write(start_.get(), &go, 1) != 1 && errno != EPIPE) return system_error(errno, "start the command");
    return Done{};
}

std::optional<Status> OwnCommand::take_start() {
    pollfd readable{.fd = failure_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&readable, 1, 0) != 1) return std::nullopt;
    StartFailure failure;
    const Fd failures = std::move(failure_);
    if (::read(failures.get(), &failure, sizeof failure) != sizeof failure) return Done{};
    output_failed_ = failure.step == StartStep::output;
    if (output_failed_)
        return system_error(failure.error, "--job-output: open " + output_.value_or("standard error") + " for");
    return system_error(failure.error, "run the command");
}

void OwnCommand::pass_on(int signal) const {
    if (pid_ > 0) ::kill(pid_, signal);
}

int OwnCommand::exit_status() {
    constexpr int kPatienceMs = 10'000;
    pollfd ended{.fd = pidfd_.get(), .events = POLLIN, .revents = 0};
    if (pid_ > 0 && ::poll(&ended, 1, 0) == 0) {
        pass_on(SIGTERM);
        if (::poll(&ended, 1, kPatienceMs) == 0) pass_on(SIGKILL);
    }
    int status = 0;
    if (pid_ < 0 || ::waitpid(std::exchange(pid_, -1), &status, 0) < 0) return 1;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int OwnCommand::failed_start(const Error& error) const {
    if (output_failed_) return 2;
    return error.code == std::errc::no_such_file_or_directory ? 127 : 126;
}

}  // namespace memscope
