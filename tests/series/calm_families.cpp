// Jobs whose floor does not rise: stable and spiky.
#include <algorithm>

#include "series/job.h"

namespace memscope::made {
namespace {

double any_length(Chance& chance) { return chance.scaled(10 * kMinute, 5 * kHour); }

Labelled constant(Chance& chance) {
    Job job = any_job(chance);
    job.base = 1;
    Labelled made = record(chance, job, any_length(chance));
    made.never_leaks = true;
    return made;
}

Labelled blips(Chance& chance) {  // spikes that are too few or too small for `spiky`
    Job job = any_job(chance);
    job.base = 1;
    const double length = chance.between(40 * kMinute, 4 * kHour);
    if (chance.flip(0.5)) {
        for (int i = chance.whole(1, 2); i > 0; --i) {
            const double at = chance.between(0.1, 0.8) * length;
            job.shapes.push_back(stop(sum({stairs(chance, at, 1e9, job.level * 0.3, 0, length)}), length));
            job.shapes.push_back(stairs(chance, at + 0.01 * length, 1e9, -job.level * 0.3, 0, length));
        }
    } else {
        job.noise = job.level * chance.scaled(0.0001, 0.001);
        job.shapes.push_back(spikes(chance, {.until = length,
                                             .period = chance.between(100, 900),
                                             .width = 30,
                                             .height = job.level * chance.between(0.003, 0.018)}));
    }
    Labelled made = record(chance, job, length, {.interval = 5});
    made.never_leaks = true;
    return made;
}

Labelled validation_spikes(Chance& chance) {
    Job job = any_job(chance);
    const double length = chance.scaled(30 * kMinute, 5 * kHour);
    maybe_warm_up(chance, job, std::min(0.4 * length, 18 * kMinute));
    const Sampling sampling = any_sampling(chance, length);
    const double period = std::max(length / chance.between(6, 50), 8 * sampling.interval);
    job.shapes.push_back(
        spikes(chance, {.until = length,
                        .period = period,
                        .width = std::max(chance.between(0.03, 0.25) * period, 2.5 * sampling.interval),
                        .height = std::max(job.level * chance.scaled(0.05, 1), 14 * job.noise),
                        .irregular = chance.flip(0.5) ? 0 : chance.between(0, 0.5)}));
    Labelled made = record(chance, job, length, sampling);
    made.verdict = Verdict::spiky;
    made.never_leaks = true;
    return made;
}

Labelled collector_teeth(Chance& chance) {
    Job job = any_job(chance);
    const double length = chance.scaled(30 * kMinute, 5 * kHour);
    job.base = 1;
    const Sampling sampling = any_sampling(chance, length);
    const double period = std::max(length / chance.between(8, 60), 10 * sampling.interval);
    const double height = std::max(job.level * chance.scaled(0.06, 0.6), 14 * job.noise);
    const double irregular = chance.flip(0.5) ? 0 : chance.between(0, 0.25);
    job.shapes.push_back(teeth(chance, period, height, irregular, length));
    Labelled made = record(chance, job, length, sampling);
    made.verdict = Verdict::spiky;
    const double longest = period * (1 + irregular);
    const bool falls_far = height > job.level / 3;
    made.never_leaks = longest < kBudget || !falls_far;  // otherwise the curve is that of a crash loop
    if (longest > kBudget) made.knowable_from = 3 * longest;
    return made;
}

Labelled deep_teeth(Chance& chance) {  // growth resumes from the bottom of each fall, so these are no restarts
    Job job = any_job(chance);
    job.base = chance.between(0.05, 0.3);
    const double length = chance.between(1 * kHour, 5 * kHour);
    job.shapes.push_back(teeth(chance, length / chance.between(5, 20), job.level - job.cold(), 0.1, length));
    Labelled made = record(chance, job, length, {.interval = chance.flip(0.5) ? 5.0 : 10.0});
    made.verdict = Verdict::spiky;
    return made;
}

// Falls by a quarter to a half of the level, some of them as deep as that of a job that is restarted, some not. Gaps in
// the samples hide others.
Labelled uneven_teeth(Chance& chance) {
    Job job = any_job(chance);
    job.base = 1;
    job.noise = job.level * chance.scaled(0.0001, 0.003);
    const double period = chance.between(5 * kMinute, 14 * kMinute);
    const double length = period * chance.between(8, 20);
    job.shapes.push_back(
        teeth(chance, period, job.level * chance.between(0.3, 0.6), chance.between(0.15, 0.3), length));
    Labelled made = record(chance, job, length, {.interval = chance.between(1, 10), .gaps = chance.whole(0, 3)});
    made.verdict = Verdict::spiky;
    made.never_leaks = true;
    return made;
}

// A small trainer that fills a large buffer in every epoch and frees it.
Labelled epoch_buffer(Chance& chance) {
    Job job = any_job(chance);
    job.base = chance.between(0.04, 0.2);
    job.noise = job.cold() * 0.002;
    const double period = chance.between(5 * kMinute, 60 * kMinute);
    const double length = period * chance.between(4.2, 10);
    const double irregular = chance.flip(0.5) ? 0 : 0.1;
    job.shapes.push_back(teeth(chance, period, job.level - job.cold(), irregular, length));
    Labelled made = record(chance, job, length, {.interval = chance.flip(0.5) ? 2.0 : 10.0});
    made.verdict = Verdict::spiky;
    made.never_leaks = true;
    made.knowable_from = 2 * period * (1 + irregular);  // a first tooth longer than the budget looks like a leak
    return made;
}

// A job that is restarted because of time limits or preemption. Each run loads its model, warms up and is flat.
Labelled healthy_and_restarted(Chance& chance) {
    Labelled made = restarted_runs(chance, {});
    made.verdict = Verdict::stable;
    made.never_leaks = true;
    return made;
}

// The allocator keeps memory that a spike needed, so the floor rises permanently, but the peaks do not.
Labelled same_peaks_higher_floor(Chance& chance) {
    Job job = any_job(chance);
    job.base = 1;
    job.noise = job.level * 0.001;
    const double length = chance.between(3 * kHour, 9 * kHour);
    const double at = length * chance.between(0.4, 0.75);
    const double height = job.level * chance.between(0.3, 0.8);
    const double kept = height * chance.between(0.3, 0.8);
    const double period = chance.between(5 * kMinute, 40 * kMinute);
    const double width = std::max(30.0, period * chance.between(0.02, 0.2));
    job.shapes.push_back([=](double t) {
        if (std::fmod(t, period) < width) return height;
        return t < at ? 0.0 : kept;
    });
    Labelled made = record(chance, job, length, {.interval = chance.flip(0.5) ? 1.0 : 10.0});
    made.verdict = Verdict::spiky;
    made.never_leaks = true;
    made.limit = job.level + 1.03 * height;
    return made;
}

Labelled smooth_wander(Chance& chance) {
    Job job = any_job(chance);
    job.base = 1;
    job.noise = job.level * chance.scaled(0.0001, 0.002);
    const double length = chance.between(1 * kHour, 6 * kHour);
    job.shapes.push_back(waves(chance, job.level * chance.between(0.002, 0.012), 5 * kMinute, length / 5));
    return record(chance, job, length);
}

Labelled rough_wandering(Chance& chance) {
    Job job = any_job(chance);
    job.base = 1;
    const double length = chance.between(1 * kHour, 6 * kHour);
    Labelled made = record(chance, job, length);
    std::vector<double> at;
    for (const auto& sample : made.samples) at.push_back(sample.at);
    const auto wander =
        rough_wander(chance, at, job.level * chance.between(0.001, 0.008), chance.between(kMinute, length / 12));
    for (std::size_t i = 0; i < at.size(); ++i)
        made.samples[i].bytes = std::max(0.0, made.samples[i].bytes + wander[i]);
    return made;
}

Labelled decline(Chance& chance) {
    Job job = any_job(chance);
    const double length = chance.between(30 * kMinute, 4 * kHour);
    maybe_warm_up(chance, job, 10 * kMinute);
    job.shapes.push_back(leak(job.warm, -job.level * chance.between(0.005, 0.15) / length));
    Labelled made = record(chance, job, length);
    made.never_leaks = true;
    return made;
}

Labelled immaterial_drift(Chance& chance) {
    Job job = any_job(chance);
    job.base = 1;
    const double length = chance.between(40 * kMinute, 5 * kHour);
    job.shapes.push_back(leak(0, job.level * chance.between(0.0005, 0.006) / length));
    Labelled made = record(chance, job, length);
    made.never_leaks = true;
    return made;
}

Labelled days_of_spikes(Chance& chance) {
    Job job = any_job(chance);
    const double length = chance.between(20 * kHour, 72 * kHour);
    maybe_warm_up(chance, job, 18 * kMinute);
    const Sampling sampling{.interval = chance.flip(0.5) ? 1.0 : 5.0};
    job.shapes.push_back(spikes(chance, {.until = length,
                                         .period = chance.scaled(40, 3600),
                                         .width = 12,
                                         .height = std::max(job.level * chance.scaled(0.06, 0.8), 14 * job.noise)}));
    Labelled made = record(chance, job, length, sampling);
    made.verdict = Verdict::spiky;
    return made;
}

Labelled days_of_calm(Chance& chance) {
    Job job = any_job(chance);
    maybe_warm_up(chance, job, 18 * kMinute);
    return record(chance, job, chance.between(20 * kHour, 72 * kHour), {.interval = chance.flip(0.3) ? 2.0 : 30.0});
}

Labelled too_short(Chance& chance) {
    Job job = any_job(chance);
    job.base = 1;
    Labelled made = chance.flip(0.5) ? record(chance, job, chance.between(0, 60), {.interval = 1})
                                     : record(chance, job, chance.between(0, 3.9 * 60), {.interval = 60});
    made.verdict = Verdict::insufficient;
    made.never_leaks = true;
    return made;
}

constexpr Family kCalmFamilies[] = {
    {"constant", constant},
    {"blips", blips},
    {"validation spikes", validation_spikes},
    {"collector's teeth", collector_teeth},
    {"deep teeth", deep_teeth},
    {"uneven teeth", uneven_teeth},
    {"epoch buffer", epoch_buffer},
    {"healthy and restarted", healthy_and_restarted},
    {"same peaks, higher floor", same_peaks_higher_floor},
    {"smooth wander", smooth_wander},
    {"rough wander", rough_wandering},
    {"decline", decline},
    {"immaterial drift", immaterial_drift},
    {"days of spikes", days_of_spikes},
    {"days of calm", days_of_calm},
    {"too short", too_short},
};

}  // namespace

std::span<const Family> calm_families() { return kCalmFamilies; }

}  // namespace memscope::made
