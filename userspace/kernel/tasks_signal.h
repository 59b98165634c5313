#pragma once
#include <memory>

#include "kernel/plan.h"
#include "kernel/signal.h"
#include "model/process.h"

namespace memscope {

// The task iterator: every watched process in one read.
class TasksSignal {
  public:
    static Result<TasksSignal> start(const Plan& plan, const SignalSettings& settings);
    TasksSignal(TasksSignal&&) noexcept;
    TasksSignal& operator=(TasksSignal&&) noexcept;
    ~TasksSignal();

    Result<std::vector<TaskSample>> scan();
    Losses losses() const;
    Bytes map_memory() const;

  private:
    struct State;
    explicit TasksSignal(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace memscope
