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

// How good a detector is, by the last sample of many series.
struct Score {
    int series = 0;
    int right = 0;
    int healthy = 0;
    int accused = 0;  // healthy, and called leaking
    int leaks = 0;
    int missed = 0;
    int long_leaks = 0;  // for an hour at least
    int long_missed = 0;
    int slopes = 0;
    int slopes_near = 0;                 // within a tenth
    std::map<std::string, int> wrong{};  // "family: word" of what was wrong
    std::vector<std::string> cases{};    // "family seed: word" of the same

    void add(const Labelled& made, const Answer& answer, std::uint64_t seed);
    void join(const Score& other);
};

// And while it watches: every judgement that is due, not only the last.
struct Watching {
    int healthy = 0;                // that may never be called leaking
    int accused = 0;                // and were
    std::vector<double> delays{};   // of late leaks, in seconds
    int never = 0;                  // late leaks that were not called by the end
    std::vector<double> changes{};  // how often the word changed, by what is shown at 60 moments of each series
    std::vector<std::string> cases{};

    Answer add(const Labelled& made, std::uint64_t seed, const Evidence& evidence = {});  // the last word
    void join(const Watching& other);
};

// How far off the forecast of a job's death is, 60 s before it: as a part of the true time.
struct ForecastErrors {
    std::vector<double> steady{};
    std::vector<double> stepped{};
    int silent = 0;  // there was no forecast

    void add(const Dying& made);
    void join(const ForecastErrors& other);
};

}  // namespace memscope::made
