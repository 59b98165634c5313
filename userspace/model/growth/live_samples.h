#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>
#include <vector>

#include "model/growth/range_event.h"
#include "model/growth/stack.h"

namespace memscope {

// Samples of anonymous pages that are still there. A sample ends when its page is unmapped, replaced, given back or
// found absent; it moves with mremap().
//
// Samples and range events come through two ring buffers, so a sample can arrive after the event that ends it.
// Therefore recent events are kept and applied to samples that are older than the event.
class LiveSamples {
  public:
    struct Limits {
        std::size_t process = 65'536;
        std::size_t all = 262'144;    // an entry has about 100 bytes
        std::size_t recent = 16'384;  // range events of one process, and its absent pages
    };
    LiveSamples() : LiveSamples(Limits{}) {}
    explicit LiveSamples(Limits limits) : limits_(limits) {}

    void add(const GrowthSample& sample);
    void apply(const RangeEvent& event);
    void end(const ProcessId& process);
    // Call this when all samples that were taken before `time_ns` have been added: earlier range events are not needed
    // any more.
    void forget_events_before(std::uint64_t time_ns);

    // By stack. kNoStack: samples without a stack.
    std::vector<HeldAtStack> held(const ProcessId& process) const;
    std::size_t count(const ProcessId& process) const;
    std::size_t count() const { return count_; }
    std::map<StackId, std::int64_t> by_stack() const;  // of all processes

    // At most `most` addresses at and after `from`, in ascending order.
    std::vector<std::uint64_t> addresses(const ProcessId& process, std::uint64_t from, std::size_t most) const;
    // Ends the samples at addresses whose page was absent at a moment between these times. If the page had moved by
    // then and its event has not arrived yet, the event brings the sample back.
    void remove_absent(const ProcessId& process, const std::vector<std::uint64_t>& addresses, std::uint64_t began_ns,
                       std::uint64_t ended_ns);
    // Counts the samples that were taken at the first stack of each pair until `now_ns` at the second one. kNoStack:
    // without a stack.
    using Moves = std::unordered_map<StackId, StackId>;
    void move_stacks(const Moves& to, std::uint64_t now_ns);
    // Halves the number of samples and doubles the bytes for which each stands.
    void thin(const ProcessId& process);

  private:
    struct Sample {
        std::uint64_t time_ns = 0;
        StackId stack = kNoStack;
        std::int64_t bytes = 0;
    };
    using Samples = std::map<std::uint64_t, Sample>;  // by address
    struct Change {
        std::uint64_t time_ns = 0;
        AddressRange range{};
        bool moves = false;
        std::uint64_t moved_to = 0;
    };
    struct Absent {
        Sample sample{};
        std::uint64_t found_ns = 0;  // latest time at which the page was found absent
    };
    struct Space {
        SpaceId id{};
        Samples samples{};
        std::map<std::uint64_t, Absent> absent{};  // recently ended by remove_absent(); by address
        std::deque<Change> changes{};
        std::unordered_map<StackId, std::int64_t> bytes{};
        std::uint64_t lost = 0;  // range events
        unsigned halvings = 0;   // of 2^halvings samples one is kept
        std::uint64_t arrived = 0;
    };

    void add_one(const GrowthSample& sample);
    void change(Space& space, const Change& change);
    void bring_back(Space& space, const Change& change);
    void clear(Space& space);
    void insert(Space& space, std::uint64_t address, const Sample& sample);
    Samples::iterator erase(Space& space, Samples::iterator sample);
    void make_room();

    Limits limits_;
    Moves moves_{};  // for samples that arrive later
    std::uint64_t moved_ns_ = 0;
    std::map<ProcessId, Space> spaces_{};
    std::size_t count_ = 0;
};

}  // namespace memscope
