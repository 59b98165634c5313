#pragma once
#include <memory>
#include <optional>
#include <span>

#include "kernel/features/feature.h"
#include "kernel/plan.h"
#include "model/processes/process.h"

namespace memscope {

// Every watched process at once. The quick scan fills rows that are mapped here; where the kernel cannot do it, and
// when there are more processes than rows, the task iterator is read.
class TaskScan {
  public:
    static Result<TaskScan> start(const Plan& plan, const FeatureSettings& settings);
    TaskScan(TaskScan&&) noexcept;
    TaskScan& operator=(TaskScan&&) noexcept;
    ~TaskScan();

    Result<std::span<const ScannedTask>> scan();  // valid until the next one
    bool is_quick() const;
    const std::optional<Error>& refusal() const;  // of the quick scan, by a kernel that seemed to offer it
    Losses losses() const;
    Bytes map_memory() const;

  private:
    struct State;
    explicit TaskScan(std::unique_ptr<State> state);
    Result<std::span<const ScannedTask>> read_iterator();
    Result<std::span<const ScannedTask>> decoded(std::span<const std::byte> rows);
    std::unique_ptr<State> state_;
};

}  // namespace memscope
