#include "series/job.h"

#include <algorithm>
#include <cmath>

namespace memscope::made {

Job any_job(Chance& chance) {
    Job job;
    job.level = chance.scaled(0.3, 300) * kGiB;
    job.noise = job.level * chance.scaled(0.0001, 0.005);
    job.base = chance.between(0.08, 0.85);
    return job;
}

void warm_up(Chance& chance, Job& job, double earliest, double latest, Growth growth) {
    job.warm = chance.between(earliest, latest);
    job.shapes.push_back(grow(chance, 0, job.warm, job.level - job.cold(), growth));
}

void maybe_warm_up(Chance& chance, Job& job, double latest) {
    if (chance.flip(0.3))
        job.base = 1;
    else
        warm_up(chance, job, 0.1 * latest, latest);
}

Labelled record(Chance& chance, const Job& job, double length, const Sampling& sampling) {
    constexpr double kPage = 4096;
    Labelled made;
    const Shape shape = sum(job.shapes);
    for (const double t : times(chance, sampling, length)) {
        const double bytes = job.cold() + shape(t) + job.noise * chance.normal();
        made.samples.push_back({t, std::max(0.0, std::round(bytes / kPage) * kPage)});
    }
    return made;
}

Labelled record(Chance& chance, const Job& job, double length) {
    return record(chance, job, length, any_sampling(chance, length));
}

Labelled restarted_runs(Chance& chance, const Restarting& restarting) {
    Job job = any_job(chance);
    const int runs = chance.whole(2, 8);
    const double length = chance.between(30 * kMinute, 2.5 * kHour);
    const double low = job.level * chance.between(0.01, 0.25);  // before the model is loaded
    const double load = chance.flip(0.4) ? 1 : chance.scaled(5, 300);
    const double grown = job.level * chance.between(0.3, 2);
    const double warm = chance.between(kMinute, 15 * kMinute);
    const double down = chance.between(5, 2 * kMinute);
    const bool regular = chance.flip(0.7);
    std::vector<double> begins{0};
    while (static_cast<int>(begins.size()) < runs)
        begins.push_back(begins.back() + down +
                         length * (regular ? chance.between(0.95, 1.05) : chance.between(0.7, 1.4)));
    const double last = length * chance.between(restarting.leaks ? 0.95 : 0.6, 1);
    job.base = 0;
    job.noise = job.level * chance.scaled(0.0003, 0.004);
    job.shapes.push_back([=](double t) {
        const auto next = std::ranges::upper_bound(begins, t);
        const double age = t - *std::prev(next);
        if (next != begins.end() && *next - t < down) return low;
        const double after = std::max(0.0, age - load);
        return low + (job.level - low) * std::min(1.0, age / load) +
               grown * (restarting.leaks ? after / length : std::min(1.0, after / warm));
    });
    Labelled made = record(chance, job, begins.back() + last, {.interval = chance.flip(0.5) ? 2.0 : 5.0});
    made.slope = restarting.leaks ? grown / length : 0;
    if (restarting.leaks) made.leak_began = begins.back() + load;
    return made;
}

std::span<const Family> families() {
    static const std::vector<Family> all = [] {
        std::vector<Family> list;
        for (const auto group : {calm_families(), growing_families(), leaking_families()})
            list.insert(list.end(), group.begin(), group.end());
        return list;
    }();
    return all;
}

Labelled make(const Family& family, std::uint64_t seed) {
    std::uint64_t mixed = seed * 0x9E3779B97F4A7C15U;  // adjacent seeds must not give similar series
    for (const char c : family.name) mixed = (mixed ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
    Chance chance(mixed);
    Labelled made = family.make(chance);
    made.family = family.name;
    return made;
}

}  // namespace memscope::made
