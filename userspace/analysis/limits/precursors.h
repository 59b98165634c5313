#pragma once
#include <array>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "model/judgement.h"
#include "model/memory.h"
#include "model/precursor.h"
#include "model/snapshot.h"

namespace memscope {

// Conditions of the precursors. Shares are 0 to 1.
struct PrecursorSettings {
    Seconds eta = std::chrono::minutes(10);        // time to OOM of a leak, or to a spike that crosses the limit
    Seconds eta_warmup = std::chrono::minutes(2);  // time to OOM of a warm-up, or by the trend of the last minute
    double eta_warmup_held = 0.8;  // `eta_warmup` counts only if more than this share of the limit is in use
    double near_limit = 0.9;       // share of the limit
    Seconds near_limit_for{30};    // `near_limit` must hold for this time
    double pressure = 0.1;         // PSI full avg10
    double reclaim = 0.05;         // share of `reclaim_window`
    Seconds reclaim_window{60};
    double refault = 0.01;                          // share of the usage per second
    Seconds refault_for{60};                        // `refault` must hold for this time
    Seconds high_throttled{30};                     // the counter must rise for this time
    double shm_full = 0.9;                          // share of the size of /dev/shm
    double host_low = 0.02;                         // share of the machine's memory
    Bytes host_low_least{std::uint64_t{1} << 30U};  // the threshold of `host_low` is at least this size
    Seconds clear_after{60};                        // after this time without its condition a precursor ends
};

// The rise of a counter in the last `length` seconds. Keeps a bounded number of values, however often it is called, and
// interpolates linearly between two of them.
class CounterWindow {
  public:
    explicit CounterWindow(Seconds length) : length_(length) {}

    // A counter that falls was reset, so the window starts again. A call whose time does not advance is ignored.
    void add(Seconds now, double total);
    void forget() { values_.clear(); }

    // The rise up to the last value. Growth before the first value is not known and not included. None before the
    // second value.
    std::optional<double> rise() const;
    bool is_full() const;  // the values cover its whole length

  private:
    struct Value {
        Seconds time{};
        double total = 0;
    };

    Seconds length_;
    std::deque<Value> values_;
};

// The state of a target at one moment. A precursor whose input is absent cannot be active.
struct PrecursorInputs {
    std::vector<Forecast> forecasts{};           // one for each limit that will be reached, the earliest first
    Verdict verdict = Verdict::insufficient;     // of the target itself; a limit may fill up because of other jobs
    std::optional<EffectiveLimit> limit{};       // the limit with the least headroom
    std::optional<double> pressure_full{};       // PSI full avg10 of the target, 0 to 1
    std::optional<Seconds> reclaim_stalled{};    // counter: time that all threads together were stalled
    std::optional<Bytes> refaulted{};            // counter
    std::optional<std::uint64_t> high_events{};  // counter: `high` of memory.events
    Bytes usage{};
    std::optional<ShmUsage> shm{};
    std::optional<HostMemory> host{};
    // When the processes that held most of the target, or made it grow, had exited, on the clock of consider(). A
    // precursor that announced their end is cleared as soon as its condition is gone.
    std::optional<Seconds> job_ended{};
    // Describes memory that an allocator keeps free, if it is a large part of the memory that counts against the limit.
    // Added to the reasons that are about a limit. Empty if not.
    std::string free_memory{};
    // Most of the growth is memory that an allocator keeps free. The program has freed it, so it is not called a leak.
    bool allocator_grows = false;
};

// The inputs of a target that is described completely, except for its precursors. `forecasts`, `job_ended`: see above.
// `now`: seconds since 1970.
PrecursorInputs precursor_inputs(const TargetSnapshot& target, const HostMemory& host, std::vector<Forecast> forecasts,
                                 std::optional<Seconds> job_ended, double now);

// The precursors of one target, derived from all inputs so far. docs/precursors.md has the table of conditions.
class Precursors {
  public:
    explicit Precursors(const PrecursorSettings& settings = {});

    // The active precursors. Time must not run backwards. The time between two calls does not matter.
    std::vector<Precursor> consider(Seconds now, const PrecursorInputs& inputs);

  private:
    struct State {
        std::optional<Seconds> reasoned_since{};  // the condition has held without a break since then
        Seconds reasoned_last{};
        std::optional<Seconds> standing_since{};
        std::string reason{};
        // As of the last reason; another limit may become the nearest before the precursor is cleared.
        bool of_host = false;
    };
    static constexpr std::size_t kKinds = std::size(kPrecursorKinds);

    void count(Seconds now, const PrecursorInputs& inputs);
    std::optional<std::string> reason_for(PrecursorKind kind, const PrecursorInputs& inputs) const;
    Seconds needed(PrecursorKind kind) const;  // how long the condition must hold
    void settle(State& state, Seconds now, std::optional<std::string> reason, Seconds needed, Seconds hold) const;

    PrecursorSettings settings_;
    CounterWindow stalls_;
    CounterWindow refaults_;
    CounterWindow highs_;
    std::array<State, kKinds> states_{};
    std::optional<Seconds> job_ended_{};  // PrecursorInputs::job_ended at the last tick
};

// The sentence of a precursor while its condition holds, even if the condition has not held for long enough yet. None
// if the condition does not hold.
using Reason = std::optional<std::string>;

// A rise of a counter and the time it took.
struct CounterRise {
    double by = 0;
    Seconds in{};
};

// The earliest forecast that activates `eta`; null if none is near enough.
const Forecast* alarming(const PrecursorSettings& settings, const PrecursorInputs& inputs);
Reason eta_reason(const PrecursorSettings& settings, const PrecursorInputs& inputs);
Reason near_limit_reason(const PrecursorSettings& settings, const std::optional<EffectiveLimit>& limit);
Reason pressure_reason(const PrecursorSettings& settings, const std::optional<double>& full);
Reason reclaim_reason(const PrecursorSettings& settings, const std::optional<double>& stalled_seconds);
Reason refault_reason(const PrecursorSettings& settings, const std::optional<CounterRise>& bytes, Bytes usage);
Reason high_throttled_reason(const std::optional<CounterRise>& events);
Reason shm_full_reason(const PrecursorSettings& settings, const std::optional<ShmUsage>& shm);
Reason host_low_reason(const PrecursorSettings& settings, const std::optional<HostMemory>& host);

}  // namespace memscope
