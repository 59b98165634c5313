#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/verdict/verdict.h"
#include "series/families.h"

namespace memscope::made {

struct Answer {
    Verdict verdict = Verdict::insufficient;
    std::optional<double> slope{};  // bytes per second
};
using Detector = std::function<Answer(const Labelled&)>;

Series series_of(const Labelled& made);
Answer memscope_says(const Labelled& made, const Evidence& evidence = {});

// How often a detector is right at the last sample of many series.
struct Score {
    int series = 0;
    int right = 0;
    int healthy = 0;
    int accused = 0;  // healthy, but the verdict was `leaking`
    int leaks = 0;
    int missed = 0;
    int long_leaks = 0;  // leaks that lasted at least an hour
    int long_missed = 0;
    int slopes = 0;
    int slopes_near = 0;                 // within 10 % of the correct slope
    std::map<std::string, int> wrong{};  // how often "family: word" was a wrong answer
    std::vector<std::string> cases{};    // each wrong answer as "family seed: word"

    void add(const Labelled& made, const Answer& answer, std::uint64_t seed);
    void join(const Score& other);
};

// How often the verdicts are right while a series is watched: every judgement, not only the last.
struct Watching {
    int healthy = 0;                // series that must never get the verdict `leaking`
    int accused = 0;                // series that got it wrongly
    std::vector<double> delays{};   // seconds until a late leak was detected
    int never = 0;                  // late leaks that were not detected by the end
    std::vector<double> changes{};  // for each series: how often the verdict changed between 60 points in time
    std::vector<std::string> cases{};

    // Returns the verdict at the last sample.
    Answer add(const Labelled& made, std::uint64_t seed, const Evidence& evidence = {});
    void join(const Watching& other);
};

// The error of the forecast 60 s before the death of a job, as a part of the true time that is left.
struct ForecastErrors {
    std::vector<double> steady{};
    std::vector<double> stepped{};
    int silent = 0;  // deaths without a forecast

    void add(const Dying& made);
    void join(const ForecastErrors& other);
};

}  // namespace memscope::made
