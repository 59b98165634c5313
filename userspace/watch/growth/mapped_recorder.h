#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "base/files.h"
#include "kernel/session.h"
#include "model/growth/mapped_growth.h"
#include "model/growth/stack.h"
#include "model/processes/process_table.h"
#include "model/snapshot.h"
#include "watch/helpers/read_jobs.h"

namespace memscope {

// Keeps the mapped ranges of all watched processes. Everything except held() belongs to the thread of the ticks.
class MappedRecorder {
  public:
    struct Listener {
        std::function<void(const RangeEvent&)> event{};  // called for every event, in order
        std::function<void()> drained{};                 // the ring buffer has no more events for now
    };
    MappedRecorder(std::shared_ptr<ReadHelpers> reads, Listener listener)
        : reads_(std::move(reads)), listener_(std::move(listener)) {}

    void take_events(Session& session);
    void begin(const TrackedProcess& process);  // starts to follow a process
    void tick(Session& session, const ProcessTable& processes);

    // From any thread.
    struct Held {
        std::vector<HeldAtStack> stacks{};
        std::int64_t unknown = 0;   // mapped while events were lost
        std::int64_t left_out = 0;  // of address spaces with too many ranges
        std::int64_t file = 0;
        std::int64_t reserved = 0;
    };
    Held held(const std::vector<Process>& processes) const;
    std::vector<HeldAtStack> held(const ProcessId& process) const;  // also just after its end
    void forget_ended();
    std::set<StackId> stacks() const;  // all stacks that hold memory
    // For each range of a process: the stack that mapped most of the range. kNoStack: not known, or mapped before
    // watching began.
    std::vector<StackId> mapped_by(const ProcessId& process, const std::vector<AddressRange>& ranges) const;

  private:
    // A process whose maps a helper is reading, and the events of the process since the read was requested. The events
    // are applied again to the result of the read, because the result may be older than the events.
    struct Reading {
        std::uint64_t number = 0;
        std::vector<RangeEvent> since{};
        bool too_many = false;  // too many events: the result of the read is dropped
    };
    static constexpr std::size_t kMostSince = 16384;        // of one process
    static constexpr std::size_t kMostSinceOfAll = 131072;  // an event has about 100 bytes
    static constexpr std::size_t kMostReadings = 1024;

    void drain(Session& session);
    void note(Reading& reading, const RangeEvent& event);
    void read(const ProcessId& id);
    Reading take(std::map<ProcessId, Reading>::iterator reading);

    std::shared_ptr<ReadHelpers> reads_;
    Listener listener_;
    std::map<ProcessId, Reading> readings_{};
    std::size_t since_count_ = 0;  // of all readings
    std::uint64_t numbers_ = 0;
    std::uint64_t lost_ = 0;  // events, up to the last tick
    mutable std::mutex mutex_{};
    MappedGrowth growth_{};
};

}  // namespace memscope
