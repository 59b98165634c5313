#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "watch/targets/own_cgroup.h"

namespace memscope {

// Who a command runs as.
struct Identity {
    uid_t uid = 0;
    gid_t gid = 0;
    std::string name{};
    std::string home{};
};
// `user` if given, else whoever called sudo; none: as we are.
Result<std::optional<Identity>> command_identity(const std::optional<std::string>& user);
// The calling process, which should be a child of ours, becomes that user for good.
bool become(const Identity& identity);

// A command that runs in a cgroup of its own. It is forked and put there at once, but starts only when it is released:
// then somebody is watching.
class OwnCommand {
  public:
    static Result<OwnCommand> prepare(const std::vector<std::string>& argv, const std::optional<Identity>& identity,
                                      OwnCgroup& cgroup);
    OwnCommand(OwnCommand&&) noexcept;
    OwnCommand& operator=(OwnCommand&&) = delete;
    ~OwnCommand();  // one that was never released is gone

    // Starts it. The error of exec(): no such command, not executable.
    Status release();
    int ended_fd() const { return pidfd_.get(); }  // readable once it has ended
    void pass_on(int signal) const;
    // 128 + signal if it was killed. One that still runs is told to end (SIGTERM), and made to after ten seconds.
    int exit_status();

    pid_t pid() const { return pid_; }

  private:
    OwnCommand(pid_t pid, Fd pidfd, Fd start, Fd failure)
        : pid_(pid), pidfd_(std::move(pidfd)), start_(std::move(start)), failure_(std::move(failure)) {}

    pid_t pid_ = -1;
    Fd pidfd_;
    Fd start_;
    Fd failure_;  // what exec() said, if it came back
};

// What a shell would exit with after this error of release().
int exit_status_of(const Error& exec_error);

}  // namespace memscope
