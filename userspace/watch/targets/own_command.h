#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "watch/targets/own_cgroup.h"

namespace memscope {

// The user that a command runs as.
struct Identity {
    uid_t uid = 0;
    gid_t gid = 0;
    std::string name{};
    std::string home{};
};
// `user` if given, else the user who called sudo. `nullopt`: the command runs as the user of memscope.
Result<std::optional<Identity>> command_identity(const std::optional<std::string>& user);
// Permanently gives the calling process, which is a child of memscope, the rights of this user.
bool become(const Identity& identity);

// Where the standard output of a command goes. Default: to the standard output of memscope.
struct JobOutput {
    std::optional<std::string> file{};  // created or emptied with the rights of the command's user
    bool to_standard_error = false;     // without a file
};

// A command that runs in its own cgroup. Its process is forked and moved there at once, but executes the command only
// after release(), when the watcher is ready.
class OwnCommand {
  public:
    static Result<OwnCommand> prepare(const std::vector<std::string>& argv, const std::optional<Identity>& identity,
                                      OwnCgroup& cgroup, const JobOutput& output = {});
    OwnCommand(OwnCommand&&) noexcept;
    OwnCommand& operator=(OwnCommand&&) = delete;
    ~OwnCommand();  // kills the command, unless exit_status() was called

    Status release();  // lets the process execute the command; does not wait for it
    // The result of the start: the error of exec() (no such command, not executable) or of JobOutput::file. Success
    // also if the process was killed before exec(): exit_status() tells that. None: no result yet, because a network
    // file system can delay both. Must not be called again after a result.
    std::optional<Status> take_start();
    int started_fd() const { return failure_.get(); }  // readable once there is a result; take_start() closes it
    // The exit status for an error of take_start(): 2 if the output could not be opened, else 126 or 127 as a shell
    // returns it.
    int failed_start(const Error& error) const;
    int ended_fd() const { return pidfd_.get(); }  // readable once it has ended
    void pass_on(int signal) const;
    // 128 + signal if the command was killed. If it still runs, it gets SIGTERM, and SIGKILL after ten seconds.
    int exit_status();

    pid_t pid() const { return pid_; }

  private:
    OwnCommand(pid_t pid, Fd pidfd, Fd start, Fd failure, std::optional<std::string> output)
        : pid_(pid),
          pidfd_(std::move(pidfd)),
          start_(std::move(start)),
          failure_(std::move(failure)),
          output_(std::move(output)) {}

    pid_t pid_ = -1;
    Fd pidfd_;
    Fd start_;
    Fd failure_;  // a pipe for the error of the start; exec() or the end of the process closes it
    std::optional<std::string> output_{};  // JobOutput::file
    bool output_failed_ = false;
};

}  // namespace memscope
