#pragma once
#include <memory>
#include <optional>
#include <span>

#include "kernel/kernel_feature.h"
#include "model/processes/process.h"

namespace memscope {

// Scans all watched processes. The quick scan fills rows that are mapped into this process. The task iterator is read
// instead if the kernel has no quick scan, or if there are more processes than rows.
class TaskScan : public KernelFeature {
  public:
    static constexpr std::string_view kName = "tasks";
    static Result<std::unique_ptr<TaskScan>> start(const Plan& plan, const FeatureSettings& settings);
    ~TaskScan() override;

    Result<std::span<const ScannedTask>> scan();  // valid until the next scan
    bool uses(std::string_view hook) const override;
    std::optional<Error> refusal() const override;  // of the quick scan, although the kernel seemed to support it
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
