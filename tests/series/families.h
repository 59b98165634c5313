#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/verdict/verdict.h"
#include "series/shapes.h"

namespace memscope::made {

// A series with its correct verdict.
struct Labelled {
    std::string_view family{};
    Verdict verdict = Verdict::stable;
    std::vector<Series::Sample> samples{};
    double slope = 0;                    // of a leak, bytes per second
    std::optional<double> leak_began{};  // seconds since the first sample
    bool stepped = false;
    bool never_leaks = false;  // `leaking` is wrong at any time: a warm-up inside the budget, or no growth at all
    // `never_leaks` holds from this time on, in seconds. A tooth that is longer than the budget cannot be distinguished
    // from a leak before a few teeth have been freed.
    double knowable_from = 0;
    std::optional<double> limit{};  // a limit that the job never reaches if it continues as before
};

struct Family {
    std::string_view name;  // seeds the random numbers, so a new name makes other series
    Labelled (*make)(Chance&);
};
std::span<const Family> families();

Labelled make(const Family& family, std::uint64_t seed);

// A job that leaks until it is killed at a limit. Its last sample is the first one at the limit.
struct Dying {
    Labelled job{};
    double limit = 0;
};
Dying make_dying(std::uint64_t seed, bool stepped);

}  // namespace memscope::made
