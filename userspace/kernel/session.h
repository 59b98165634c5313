#pragma once
#include <functional>

#include "kernel/tasks_signal.h"
#include "kernel/tree_signal.h"
#include "model/snapshot.h"

namespace memscope {

// The kernel side while it runs: loads what the plan chose and owns it. Events are attached before the first
// scan can happen, so that nothing falls between the two.
class Session {
  public:
    static Result<Session> start(const Plan& plan, bool memory_on_v1);

    Status watch(CgroupId target) { return tree_.watch(target); }
    void unwatch(CgroupId target) { tree_.unwatch(target); }

    int ring_fd() const { return tree_.ring_fd(); }
    void drain(const std::function<void(const TreeEvent&)>& visit) { tree_.drain(visit); }
    Result<std::vector<TaskSample>> scan() { return tasks_.scan(); }

    Losses losses() const;
    Bytes map_memory() const { return tree_.map_memory() + tasks_.map_memory(); }
    std::vector<Probe> probes() const { return probes_; }

  private:
    Session(TreeSignal tree, TasksSignal tasks, std::vector<Probe> probes)
        : tree_(std::move(tree)), tasks_(std::move(tasks)), probes_(std::move(probes)) {}

    TreeSignal tree_;
    TasksSignal tasks_;
    std::vector<Probe> probes_;
};

}  // namespace memscope
