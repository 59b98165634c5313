#pragma once
#include <memory>
#include <optional>
#include <span>

#include "kernel/features/kernel_feature.h"
#include "model/processes/process.h"

namespace memscope {

// Every watched process at once. The quick scan fills rows that are mapped here; where the kernel cannot do it, and
// when there are more processes than rows, the task iterator is read.
class TaskScan : public KernelFeature {
  public:
    static constexpr std::string_view kName = "tasks";
    static Result<std::unique_ptr<TaskScan>> start(const Plan& plan, const FeatureSettings& settings);
    ~TaskScan() override;

    Result<std::span<const ScannedTask>> scan();  // valid until the next one
    bool uses(std::string_view hook) const override;
    std::optional<Error> refusal() const override;  // of the quick scan, by a kernel that seemed to offer it
    Losses losses() const override;
    Bytes map_memory() const override;

  private:
    struct State;
    explicit TaskScan(std::unique_ptr<State> state);
    bool is_quick() const;
    Result<std::span<const ScannedTask>> read_iterator();
    Result<std::span<const ScannedTask>> decoded(std::span<const std::byte> rows);
    std::unique_ptr<State> state_;
};

}  // namespace memscope
