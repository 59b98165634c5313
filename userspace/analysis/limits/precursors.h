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

namespace memscope {

// When a precursor stands. Shares are 0 to 1.
struct PrecursorSettings {
    Seconds eta = std::chrono::minutes(10);        // time to OOM of a leak, or to a spike that crosses the limit
    Seconds eta_warmup = std::chrono::minutes(2);  // of a warm-up or of the trend of the last minute,
    double eta_warmup_held = 0.8;                  // and only above this share of the limit
    double near_limit = 0.9;
    Seconds near_limit_for{30};
    double pressure = 0.1;
    double reclaim = 0.05;  // of the time below
    Seconds reclaim_window{60};
    double refault = 0.01;  // of usage, in a second
    Seconds refault_for{60};
    Seconds high_throttled{30};
    double shm_full = 0.9;
    double host_low = 0.02;                         // of the machine's memory,
    Bytes host_low_least{std::uint64_t{1} << 30U};  // and never less than this
    Seconds clear_after{60};                        // without its reason
};

// By how much a counter rose in the last so many seconds. A bounded number of its values is kept, however often they
// are told; between two of them the rise is taken to have been even.
class CounterWindow {
  public:
    explicit CounterWindow(Seconds length) : length_(length) {}

    // A counter that falls has begun anew, and so does the window. Time that does not advance is ignored.
    void tell(Seconds now, double total);
    void forget() { told_.clear(); }

    // Until the value told last. What was before the first one is not known, and not part of it. Nothing before there
    // are two.
    std::optional<double> rise() const;
    bool is_full() const;  // the values reach back over its whole length

  private:
    struct Told {
        Seconds time{};
        double total = 0;
    };

    Seconds length_;
    std::deque<Told> told_;
};

// What is known of a target at one moment. Of what is not known here no precursor can stand.
struct PrecursorInputs {
    std::vector<Forecast> forecasts{};         // one for each limit that is reached, the earliest first
    Verdict verdict = Verdict::insufficient;   // of the target itself: a limit may fill up by others
    std::optional<EffectiveLimit> limit{};     // the one with the least headroom
    std::optional<double> pressure_full{};     // PSI full avg10 of the target, 0 to 1
    std::optional<Seconds> reclaim_stalled{};  // all threads; counters, from here on
    std::optional<Bytes> refaulted{};
    std::optional<std::uint64_t> high_events{};
    Bytes usage{};
    std::optional<ShmUsage> shm{};
    std::optional<HostMemory> host{};
    // When the processes that held most of the target, or made it grow, were gone, on the clock of consider(). What
    // announced their end is over as soon as it has no reason any more.
    std::optional<Seconds> job_ended{};
};

// The precursors of one target: a function of what was told so far. CONTRACT has the table.
class Precursors {
  public:
    explicit Precursors(const PrecursorSettings& settings = {});

    // Those that stand now. Time does not run backwards; how far apart the calls are does not matter.
    std::vector<Precursor> consider(Seconds now, const PrecursorInputs& inputs);

  private:
    struct State {
        std::optional<Seconds> reasoned_since{};  // without a break
        Seconds reasoned_last{};
        std::optional<Seconds> standing_since{};
        std::string reason{};
        bool of_host = false;  // as of the last reason: until it clears, another limit may have become the nearest
    };
    static constexpr std::size_t kKinds = std::size(kPrecursorKinds);

    void count(Seconds now, const PrecursorInputs& inputs);
    std::optional<std::string> reason_for(PrecursorKind kind, const PrecursorInputs& inputs) const;
    Seconds needed(PrecursorKind kind) const;  // for so long it must have had its reason
    void settle(State& state, Seconds now, std::optional<std::string> reason, Seconds needed, Seconds hold) const;

    PrecursorSettings settings_;
    CounterWindow stalls_;
    CounterWindow refaults_;
    CounterWindow highs_;
    std::array<State, kKinds> states_{};
    std::optional<Seconds> job_ended_{};  // the last that was told of
};

// Each has its sentence while the condition of its precursor holds, whether or not for long enough to stand.
using Reason = std::optional<std::string>;

// A rise of a counter and the time it took.
struct CounterRise {
    double by = 0;
    Seconds in{};
};

// The earliest forecast that `eta` stands for; null: none is near enough.
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
