#include "watch/actions/action_process.h"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "base/text.h"

extern char** environ;

namespace memscope {
namespace {

// A file without a name that contains the text. Not a pipe, because a pipe can be too small for the text, and writing
// would then wait for the reader.
Result<Fd> readable_text(std::string_view text) {
    Fd file(::memfd_create("memscope-event", MFD_CLOEXEC));
    if (!file) return system_error(errno, "memfd_create");
    while (!text.empty()) {
        const ssize_t n = ::write(file.get(), text.data(), text.size());
        if (n <= 0) return system_error(errno, "write the event");
        text.remove_prefix(static_cast<std::size_t>(n));
    }
    if (::lseek(file.get(), 0, SEEK_SET) != 0) return system_error(errno, "lseek");
    return file;
}

// Our environment and `added`, without variables that an outer memscope may have set.
std::vector<char*> environment_with(const std::vector<std::string>& added) {
    std::vector<char*> all;
    for (char** each = environ; each && *each; ++each)
        if (!std::string_view(*each).starts_with("MEMSCOPE_")) all.push_back(*each);
    for (const std::string& each : added) all.push_back(const_cast<char*>(each.c_str()));
    all.push_back(nullptr);
    return all;
}

// The watcher has a low OOM score. Its commands must not keep this score.
void be_killable() {
    const auto score = read_file("/proc/self/oom_score_adj");
    if (!score || !score->starts_with('-')) return;
    const Fd file(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
    if (file) [[maybe_unused]]
        const auto n = ::write(file.get(), "0", 1);
}

[[noreturn]] void be_command(const std::vector<std::string>& words, const std::vector<std::string>& added,
                             const Fd& facts, const Fd& failure, pid_t helper) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (::getppid() != helper) ::_exit(127);  // the helper has ended before this call
    be_killable();
    ::dup2(facts.get(), STDIN_FILENO);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    ::execvpe(argv.front(), argv.data(), environment_with(added).data());
    const int error = errno;
    [[maybe_unused]] const auto written = ::write(failure.get(), &error, sizeof error);
    ::_exit(127);
}

}  // namespace

Result<ActionProcess> ActionProcess::start(const std::vector<std::string>& words, const ActionRequest& request,
                                           Seconds now, Seconds timeout) {
    const auto facts = readable_text(request.facts);
    if (!facts) return facts.error();
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return system_error(errno, "pipe");
    Fd failure(ends[0]);
    const Fd failure_writer(ends[1]);
    const pid_t helper = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) return system_error(errno, "fork");
    if (pid == 0) be_command(words, request.environment, *facts, failure_writer, helper);
    ::setpgid(pid, pid);  // parent and child both do it, because either may run first
    return ActionProcess(request.id, pid, std::move(failure), now + timeout);
}

std::optional<ActionReply> ActionProcess::ended() {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(group_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0)
        return std::nullopt;
    // The number of the process group cannot be reused yet, because waitpid() was not called for its leader.
    if (stage_ != Stage::running) ::kill(-group_, SIGKILL);
    int status = 0;
    ::waitpid(group_, &status, 0);
    using How = ActionReply::How;
    if (timed_out_) return ActionReply{id_, How::timed_out, 0};
    int error = 0;
    if (::read(failure_.get(), &error, sizeof error) == sizeof error) return ActionReply{id_, How::not_started, error};
    if (WIFSIGNALED(status)) return ActionReply{id_, How::killed, WTERMSIG(status)};
    return ActionReply{id_, How::exited, WEXITSTATUS(status)};
}

void ActionProcess::ask_to_end() {
    if (stage_ == Stage::running) ::kill(-group_, SIGTERM);
    stage_ = Stage::asked;
}

void ActionProcess::kill_now() {
    ::kill(-group_, SIGKILL);
    stage_ = Stage::killed;
}

std::optional<Seconds> ActionProcess::due() const {
    if (stage_ == Stage::killed) return std::nullopt;
    return deadline_;
}

void ActionProcess::enforce(Seconds now) {
    if (stage_ == Stage::killed || now < deadline_) return;
    if (stage_ == Stage::running) {
        timed_out_ = true;
        deadline_ = now + kGrace;
        return ask_to_end();
    }
    kill_now();
}

}  // namespace memscope
