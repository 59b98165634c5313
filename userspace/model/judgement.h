#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/units.h"
#include "model/memory.h"

namespace memscope {

enum class Verdict { insufficient, warming_up, stable, spiky, leaking };
inline constexpr Verdict kVerdicts[] = {Verdict::insufficient, Verdict::warming_up, Verdict::stable, Verdict::spiky,
                                        Verdict::leaking};
std::string_view word(Verdict verdict);
// The verdict as a phrase for users: "warming up", "too early to tell".
std::string_view phrase(Verdict verdict);
std::optional<Verdict> verdict_of(std::string_view word);

struct Spike {
    Bytes height{};  // above the floor
    Seconds period{};
};

struct LeakSteps {
    int count = 0;
    double height = 0;  // bytes
    Seconds period{};
    Seconds last{};  // time of the last step
};

// Earlier runs of a job that was restarted repeatedly. At least two runs have ended.
struct RestartLoop {
    int restarts = 0;
    bool all_leaked = false;   // each of the last runs leaked
    bool all_settled = false;  // each of the last runs reached a plateau
    double slope = 0;          // bytes per second, the median of the last runs that leaked
    Seconds length{};          // of a run, the median of the last ones
    Bytes top{};               // highest value of a run, the median of the last ones
    bool decides = false;      // the current run is too short to judge, so the verdict is that of the earlier runs
};

// Why a rise of the floor may not be a leak: it is within the warm-up budget, or it slows down. The verdict can be
// `leaking` in spite of `decelerating`, if the floor still rises after three times the budget.
enum class Doubt { none, budget, decelerating };

// Times are on the clock of the series.
struct Judgement {
    Verdict verdict = Verdict::insufficient;
    double confidence = 0;  // 0 to 1
    Seconds since{};        // the judged time: from the start or restart of the series ...
    Seconds until{};        // ... to the last sample
    std::uint64_t samples = 0;
    Bytes floor{};
    double floor_slope = 0;        // bytes per second
    double floor_slope_error = 0;  // standard error of the slope
    Bytes peak{};
    Bytes room{};  // the size that a limit should allow: the highest judged value since the warm-up
    std::optional<Spike> spike{};
    std::optional<Seconds> last_spike{};
    std::optional<Seconds> warmup_ended{};
    std::optional<Seconds> leak_started{};
    std::optional<Seconds> restarted{};
    std::optional<LeakSteps> steps{};
    std::optional<RestartLoop> loop{};
    double rise = 0;      // bytes by which the floor rose: since the leak began, or since the start
    double overhang = 0;  // bytes by which spikes, or else the usual highest values, are above the floor
    Doubt doubt = Doubt::none;
    bool steady = false;     // for `warming_up`: memory grows linearly, and nothing was freed
    Seconds warmup{};        // the warm-up budget
    bool only_fell = false;  // memory fell at `restarted`, but the process tree shows no restart
};

// When a limit is reached if growth continues at its present rate. Times count from now, or from the last sample of a
// recorded series.
struct Forecast {
    // The basis of the forecast: the rate of a leak, the rate of a warm-up, the next of the recurring spikes, or an
    // extrapolation of the last minute that needs no verdict.
    enum class Basis { leak, warmup, spike, trend };

    Seconds eta{};
    Seconds earliest{};
    std::optional<Seconds> latest{};  // none: the limit may never be reached
    Basis basis = Basis::leak;
    // The limit that is reached. None for the memory of a GPU and for the limit of a recorded series.
    std::optional<EffectiveLimit> limit{};
    double rate = 0;       // growth of the memory below that limit in bytes per second; 0 if a spike reaches it
    double own_share = 1;  // the target's own part of that growth, 0 to 1
};
std::string_view word(Forecast::Basis basis);

}  // namespace memscope
