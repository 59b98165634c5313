#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/verdict/verdict.h"
#include "series/shapes.h"

namespace memscope::made {

// A series with its right answer.
struct Labelled {
    std::string_view family{};
    Verdict verdict = Verdict::stable;
    std::vector<Series::Sample> samples{};
    double slope = 0;                    // of a leak, bytes per second
    std::optional<double> leak_began{};  // seconds since the first sample
    bool stepped = false;
    bool never_leaks = false;  // at no moment may it be called a leak: a warm-up inside the budget, or no growth at all
    // ... from this moment on. A tooth that lasts longer than the budget is no different from a leak until it was given
    // back a few times.
    double knowable_from = 0;
    std::optional<double> limit{};  // a limit that it never reaches, if all goes on as it does
};

struct Family {
    std::string_view name;
    Labelled (*make)(Chance&);
};
std::span<const Family> families();

Labelled make(const Family& family, std::uint64_t seed);

// A job that leaks until a limit kills it: its last sample is the first at the limit.
struct Dying {
    Labelled job{};
    double limit = 0;
};
Dying make_dying(std::uint64_t seed, bool stepped);

}  // namespace memscope::made
