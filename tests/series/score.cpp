#include "series/score.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "analysis/verdict/forecast.h"
#include "analysis/verdict/judge.h"

namespace memscope::made {
namespace {

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
    to.insert(to.end(), from.begin(), from.end());
}

Bytes bytes_of(const Series::Sample& sample) { return {static_cast<std::uint64_t>(sample.bytes)}; }

}  // namespace

Series series_of(const Labelled& made) {
    Series series;
    for (const auto& sample : made.samples) series.add(Seconds(sample.at), bytes_of(sample));
    return series;
}

Answer memscope_says(const Labelled& made, const Evidence& evidence) {
    Judge judge({.evidence = evidence});
    for (const auto& sample : made.samples) judge.add(Seconds(sample.at), bytes_of(sample));
    const Judgement judgement = judge.now();
    return {judgement.verdict, judgement.floor_slope};
}

void Score::add(const Labelled& made, const Answer& answer, std::uint64_t seed) {
    const bool leak = made.verdict == Verdict::leaking;
    const bool called = answer.verdict == Verdict::leaking;
    ++series;
    if (answer.verdict == made.verdict) {
        ++right;
    } else {
        ++wrong[fmt::format("{}: {}", made.family, word(answer.verdict))];
        cases.push_back(fmt::format("{} {}: {}", made.family, seed, word(answer.verdict)));
    }
    if (!leak) {
        ++healthy;
        accused += called ? 1 : 0;
        return;
    }
    ++leaks;
    missed += called ? 0 : 1;
    if (made.samples.back().at - *made.leak_began >= kHour) {
        ++long_leaks;
        long_missed += called ? 0 : 1;
    }
    if (!called || !answer.slope) return;
    ++slopes;
    slopes_near += std::abs(*answer.slope - made.slope) <= 0.1 * made.slope ? 1 : 0;
}

void Score::join(const Score& other) {
    series += other.series;
    right += other.right;
    healthy += other.healthy;
    accused += other.accused;
    leaks += other.leaks;
    missed += other.missed;
    long_leaks += other.long_leaks;
    long_missed += other.long_missed;
    slopes += other.slopes;
    slopes_near += other.slopes_near;
    for (const auto& [what, count] : other.wrong) wrong[what] += count;
    append(cases, other.cases);
}

Answer Watching::add(const Labelled& made, std::uint64_t seed, const Evidence& evidence) {
    constexpr std::size_t kMoments = 60;
    const bool late = made.verdict == Verdict::leaking && made.family.starts_with("late leak");
    healthy += made.never_leaks ? 1 : 0;
    Judge judge({.evidence = evidence});
    Verdict shown = Verdict::insufficient;
    int changed = -1;  // the first verdict is no change
    bool called = false;
    std::size_t moment = 1;
    for (std::size_t i = 0; i < made.samples.size(); ++i) {
        const auto& sample = made.samples[i];
        judge.add(Seconds(sample.at), bytes_of(sample));
        const Verdict is = judge.latest().verdict;
        for (; moment <= kMoments && made.samples.size() * moment / kMoments <= i + 1; ++moment)
            if (is != Verdict::insufficient && is != shown) {
                shown = is;
                ++changed;
            }
        if (called || is != Verdict::leaking || sample.at < made.knowable_from) continue;
        if (made.never_leaks || (late && sample.at < *made.leak_began)) {
            ++accused;
            cases.push_back(fmt::format("{} {}: at {:.0f} s", made.family, seed, sample.at));
        } else if (late) {
            delays.push_back(sample.at - *made.leak_began);
        }
        called = true;
    }
    never += late && !called ? 1 : 0;
    changes.push_back(std::max(changed, 0));
    constexpr int kTooMany = 6;
    if (changed > kTooMany) cases.push_back(fmt::format("{} {}: {} changes of the word", made.family, seed, changed));
    const Judgement judgement = judge.now();
    return {judgement.verdict, judgement.floor_slope};
}

void Watching::join(const Watching& other) {
    healthy += other.healthy;
    accused += other.accused;
    never += other.never;
    append(delays, other.delays);
    append(changes, other.changes);
    append(cases, other.cases);
}

void ForecastErrors::add(const Dying& made) {
    constexpr double kBefore = 60;
    const double death = made.job.samples.back().at;
    Judge judge;
    for (const auto& sample : made.job.samples) {
        if (sample.at > death - kBefore) break;
        judge.add(Seconds(sample.at), bytes_of(sample));
    }
    const double left = death - judge.series().length();
    const auto expected = forecast(judge.now(), {static_cast<std::uint64_t>(made.limit)});
    if (!expected) {
        ++silent;
        return;
    }
    (made.job.stepped ? stepped : steady).push_back(std::abs(expected->eta.count() - left) / left);
}

void ForecastErrors::join(const ForecastErrors& other) {
    append(steady, other.steady);
    append(stepped, other.stepped);
    silent += other.silent;
}

}  // namespace memscope::made
