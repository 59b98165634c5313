#pragma once
#include <mutex>
#include <set>
#include <vector>

#include "base/files.h"
#include "kernel/session.h"
#include "model/mapped_growth.h"
#include "model/process_table.h"
#include "model/snapshot.h"
#include "model/stack.h"

namespace memscope {

// Keeps the maps of ranges of all watched processes. Everything but held() belongs to the thread of the ticks.
class MappedRecorder {
  public:
    explicit MappedRecorder(SysRoot root) : root_(std::move(root)) {}

    void take_events(Session& session);
    void begin(const TrackedProcess& process);  // one that is watched from now on
    void tick(Session& session, const ProcessTable& processes);

    // From any thread.
    struct Held {
        struct AtStack {
            ProcessId process{};
            StackId stack = kNoStack;
            std::int64_t bytes = 0;
        };
        std::vector<AtStack> stacks{};
        std::int64_t unknown = 0;   // mapped while events were lost
        std::int64_t left_out = 0;  // of address spaces with too many ranges
        std::int64_t file = 0;
        std::int64_t reserved = 0;
    };
    Held held(const std::vector<Process>& processes) const;
    std::set<StackId> stacks() const;  // all that hold something

  private:
    void read(const ProcessId& id);

    SysRoot root_;
    std::uint64_t lost_ = 0;  // events, up to the last tick
    mutable std::mutex mutex_{};
    MappedGrowth growth_{};
};

}  // namespace memscope
