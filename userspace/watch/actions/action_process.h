#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "base/units.h"
#include "watch/actions/action_wire.h"

namespace memscope {

// A command that was started for an event, in a process group of its own. Times are those of the boot clock.
class ActionProcess {
  public:
    static Result<ActionProcess> start(const std::vector<std::string>& words, const ActionRequest& request, Seconds now,
                                       Seconds timeout);

    std::uint32_t id() const { return id_; }
    // How the command ended. `nullopt`: it still runs.
    std::optional<ActionReply> ended();
    // Sends SIGTERM to a command that has reached its timeout, and SIGKILL after kGrace.
    void enforce(Seconds now);
    std::optional<Seconds> due() const;  // when enforce() has to be called next
    void ask_to_end();
    void kill_now();

    static constexpr Seconds kGrace{2};  // between SIGTERM and SIGKILL

  private:
    ActionProcess(std::uint32_t id, pid_t group, Fd failure, Seconds deadline)
        : id_(id), group_(group), failure_(std::move(failure)), deadline_(deadline) {}

    enum class Stage { running, asked, killed };
    std::uint32_t id_;
    pid_t group_;  // also the pid of the command
    Fd failure_;   // the error of exec(), if it failed
    Seconds deadline_;
    Stage stage_ = Stage::running;
    bool timed_out_ = false;
};

}  // namespace memscope
