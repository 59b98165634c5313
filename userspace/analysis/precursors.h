#pragma once
#include <array>
#include <optional>
#include <vector>

#include "analysis/counter_window.h"
#include "analysis/precursor_settings.h"
#include "model/memory.h"
#include "model/precursor.h"

namespace memscope {

// What is known of a target at one moment. Of what is not known here no precursor can stand.
struct PrecursorInputs {
    struct Eta {
        Seconds left{};
        bool warmup = false;  // it rests on the rate of a warm-up, not of a leak
    };

    std::optional<Eta> eta{};
    std::optional<EffectiveLimit> limit{};
    std::optional<double> pressure_full{};     // PSI full avg10 of the target, 0 to 1
    std::optional<Seconds> reclaim_stalled{};  // all threads; counters, from here on
    std::optional<Bytes> refaulted{};
    std::optional<std::uint64_t> high_events{};
    Bytes usage{};
    std::optional<ShmUsage> shm{};
    std::optional<HostMemory> host{};
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
    void settle(State& state, Seconds now, std::optional<std::string> reason, Seconds needed) const;

    PrecursorSettings settings_;
    CounterWindow stalls_;
    CounterWindow refaults_;
    CounterWindow highs_;
    std::array<State, kKinds> states_{};
};

}  // namespace memscope
