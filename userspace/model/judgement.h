#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/units.h"

namespace memscope {

enum class Verdict { insufficient, warming_up, stable, spiky, leaking };
inline constexpr Verdict kVerdicts[] = {Verdict::insufficient, Verdict::warming_up, Verdict::stable, Verdict::spiky,
                                        Verdict::leaking};
std::string_view word(Verdict verdict);
std::optional<Verdict> verdict_of(std::string_view word);

struct Spike {
    Bytes height{};  // above the floor
    Seconds period{};
};

struct LeakSteps {
    int count = 0;
    double height = 0;  // bytes
    Seconds period{};
    Seconds last{};  // when the last one was
};

// Why the word is not `leaking` although the floor rises, where that is so.
enum class Doubt { none, budget, decelerating };

// Times are on the clock of the series.
struct Judgement {
    Verdict verdict = Verdict::insufficient;
    double confidence = 0;  // 0 to 1
    Seconds since{};        // what was judged: from its start or restart ...
    Seconds until{};        // ... to its last sample
    std::uint64_t samples = 0;
    Bytes floor{};
    double floor_slope = 0;        // bytes per second
    double floor_slope_error = 0;  // standard error of it
    Bytes peak{};
    Bytes room{};  // what a limit should leave room for: the highest judged value since the warm-up
    std::optional<Spike> spike{};
    std::optional<Seconds> last_spike{};
    std::optional<Seconds> warmup_ended{};
    std::optional<Seconds> leak_started{};
    std::optional<Seconds> restarted{};
    std::optional<LeakSteps> steps{};
    double rise = 0;      // bytes by which the floor rose: since the leak began, or since the start
    double overhang = 0;  // bytes by which the highest of a usual minute stands above the floor, spikes included
    Doubt doubt = Doubt::none;
    Seconds warmup{};  // the budget it was judged by
};

// When a limit is reached if all goes on as it does. Times count from the last sample that was judged.
struct Forecast {
    // What the time rests on: a leak's rate, a warm-up's rate, or the next of the recurring spikes.
    enum class Basis { leak, warmup, spike };

    Seconds eta{};
    Seconds earliest{};
    std::optional<Seconds> latest{};  // none: it may as well never come
    Basis basis = Basis::leak;
};
std::string_view word(Forecast::Basis basis);

}  // namespace memscope
