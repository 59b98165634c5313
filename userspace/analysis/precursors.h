#pragma once
#include <array>
#include <optional>
#include <vector>

#include "analysis/counter_window.h"
#include "analysis/precursor_settings.h"
#include "model/judgement.h"
#include "model/memory.h"
#include "model/precursor.h"

namespace memscope {

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

}  // namespace memscope
