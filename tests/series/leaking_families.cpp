// Jobs that leak.
#include <algorithm>

#include "series/job.h"

namespace memscope::made {
namespace {

// Bytes per second: 4 % to 200 % of the level per hour.
double any_rate(Chance& chance, const Job& job) { return job.level * chance.scaled(0.04, 2) / kHour; }

Labelled leaks(Labelled made, double slope, double began) {
    made.verdict = Verdict::leaking;
    made.slope = slope;
    made.leak_began = began;
    return made;
}

Labelled from_the_start(Chance& chance) {
    Job job = any_job(chance);
    job.base = 1;
    const double rate = any_rate(chance, job);
    job.shapes.push_back(leak(0, rate));
    return leaks(record(chance, job, chance.between(40 * kMinute, 4 * kHour)), rate, 0);
}

Labelled after_warm_up(Chance& chance) {
    Job job = any_job(chance);
    warm_up(chance, job, 3 * kMinute, 17 * kMinute);
    const double rate = any_rate(chance, job);
    job.shapes.push_back(leak(job.warm, rate));
    return leaks(record(chance, job, job.warm + chance.between(50 * kMinute, 4 * kHour)), rate, job.warm);
}

Labelled late(Chance& chance) {
    Job job = any_job(chance);
    maybe_warm_up(chance, job, 17 * kMinute);
    const double rate = any_rate(chance, job);
    const double began = chance.between(30 * kMinute, 3 * kHour);
    job.shapes.push_back(leak(began, rate));
    return leaks(record(chance, job, began + chance.between(30 * kMinute, 90 * kMinute)), rate, began);
}

Labelled late_after_days(Chance& chance) {
    Job job = any_job(chance);
    maybe_warm_up(chance, job, 17 * kMinute);
    const double rate = job.level * chance.scaled(0.06, 2) / kHour;
    const double began = chance.between(20 * kHour, 60 * kHour);
    job.shapes.push_back(leak(began, rate));
    const double length = began + chance.between(40 * kMinute, 3 * kHour);
    return leaks(record(chance, job, length, {.interval = chance.flip(0.3) ? 1.0 : 10.0}), rate, began);
}

Labelled under_spikes(Chance& chance) {
    Job job = any_job(chance);
    maybe_warm_up(chance, job, 15 * kMinute);
    const double length = job.warm + chance.between(50 * kMinute, 4 * kHour);
    const double rate = any_rate(chance, job);
    job.shapes.push_back(leak(job.warm, rate));
    const double risen = rate * (length - job.warm);
    const double period = chance.between(40, 600);
    job.shapes.push_back(spikes(chance, {.until = length,
                                         .period = period,
                                         .width = std::max(12.0, 0.15 * period),
                                         .height = std::max(0.08 * job.level, risen * chance.between(0.5, 10)),
                                         .irregular = chance.flip(0.5) ? 0 : 0.3}));
    return leaks(record(chance, job, length, {.interval = chance.flip(0.5) ? 1.0 : 5.0}), rate, job.warm);
}

Labelled in_steps(Chance& chance) {
    Job job = any_job(chance);
    maybe_warm_up(chance, job, 14 * kMinute);
    const double period = chance.between(2 * kMinute, 20 * kMinute);
    const int count = std::max(5, static_cast<int>(kHour / period)) + chance.whole(0, 12);
    const double began = job.warm + chance.unit() * period;
    const double length = began + (count + chance.between(0.1, 0.9)) * period;
    const double height = std::max(job.level * chance.scaled(0.04, 1) / kHour * period, 5 * job.noise);
    job.shapes.push_back(stairs(chance, began, period, height, chance.flip(0.6) ? 0 : 0.15, length));
    if (chance.flip(0.4))
        job.shapes.push_back(spikes(chance, {.from = began - 0.5 * period,
                                             .until = length,
                                             .period = period,
                                             .width = 20,
                                             .height = job.level * chance.between(0.1, 0.8)}));
    Labelled made =
        leaks(record(chance, job, length, {.interval = chance.flip(0.5) ? 1.0 : 5.0}), height / period, began);
    made.stepped = true;
    return made;
}

Labelled under_teeth(Chance& chance) {
    Job job = any_job(chance);
    job.base = 1;
    const double length = chance.between(1 * kHour, 5 * kHour);
    const double rate = std::max(any_rate(chance, job), 0.06 * job.level / length);
    const Sampling sampling = any_sampling(chance, length);
    const double period = std::max(length / chance.between(12, 60), 12 * sampling.interval);
    job.shapes.push_back(leak(0, rate));
    job.shapes.push_back(teeth(chance, period, std::max(job.level * chance.scaled(0.05, 0.5), 14 * job.noise),
                               chance.flip(0.5) ? 0 : 0.15, length));
    return leaks(record(chance, job, length, sampling), rate, 0);
}

Labelled with_one_step(Chance& chance) {
    Job job = any_job(chance);
    maybe_warm_up(chance, job, 15 * kMinute);
    const double length = job.warm + chance.between(80 * kMinute, 4 * kHour);
    const double rate = any_rate(chance, job);
    job.shapes.push_back(leak(job.warm, rate));
    job.shapes.push_back(stairs(chance, job.warm + chance.between(0.1, 0.5) * (length - job.warm), 1e9,
                                job.level * chance.between(0.03, 0.4), 0, length));
    return leaks(record(chance, job, length), rate, job.warm);
}

Labelled with_wander(Chance& chance) {
    Job job = any_job(chance);
    maybe_warm_up(chance, job, 15 * kMinute);
    const double length = job.warm + chance.between(60 * kMinute, 4 * kHour);
    const double rate = any_rate(chance, job);
    job.shapes.push_back(leak(job.warm, rate));
    job.shapes.push_back(waves(chance, rate * (length - job.warm) / chance.between(14, 40), 2 * kMinute, 15 * kMinute));
    return leaks(record(chance, job, length), rate, job.warm);
}

Labelled after_restart(Chance& chance) {
    Job job = any_job(chance);
    job.base = chance.between(0.05, 0.5);
    const double first = chance.between(20 * kMinute, 90 * kMinute);
    const double warm = chance.between(60, 14 * kMinute);
    const double growth = job.level - job.cold();
    const double rate = any_rate(chance, job);
    const Shape before = grow(chance, 0, chance.between(60, 0.6 * first), growth, Growth::any);
    const Shape after = sum({grow(chance, first, first + warm, growth, Growth::any), leak(first + warm, rate)});
    job.shapes.push_back([=](double t) { return t < first ? before(t) : after(t); });
    return leaks(record(chance, job, first + warm + chance.between(50 * kMinute, 3 * kHour)), rate, first + warm);
}

Labelled for_days(Chance& chance) {
    Job job = any_job(chance);
    maybe_warm_up(chance, job, 17 * kMinute);
    const double rate = job.level * chance.scaled(0.004, 0.2) / kHour;
    job.shapes.push_back(leak(job.warm, rate));
    const double length = chance.between(20 * kHour, 60 * kHour);
    return leaks(record(chance, job, length, {.interval = chance.flip(0.3) ? 2.0 : 30.0}), rate, job.warm);
}

// Leaks until it is killed at the limit, and is restarted by torchrun, Slurm or a shell loop.
Labelled killed_and_restarted(Chance& chance) {
    Labelled made = restarted_runs(chance, {.leaks = true});
    made.verdict = Verdict::leaking;
    return made;
}

// Each epoch frees most of the memory that it allocated and keeps a small part.
Labelled epochs_that_keep_a_little(Chance& chance) {
    Job job = any_job(chance);
    warm_up(chance, job, 1.5 * kMinute, 10 * kMinute, Growth::straight);
    const double period = chance.between(5 * kMinute, 25 * kMinute);
    const double length = std::max(period * chance.between(8, 14), 100 * kMinute);
    const double kept = std::max(job.level * chance.between(0.008, 0.03), 6 * job.noise);
    const double given_back = kept * chance.between(3, 12);
    job.shapes.push_back(
        [=](double t) { return kept * std::floor(t / period) + given_back * std::fmod(t, period) / period; });
    return leaks(record(chance, job, length, {.interval = chance.flip(0.5) ? 2.0 : 10.0}), kept / period, job.warm);
}

// A leak under the sawtooth of a garbage collector, after a warm-up.
Labelled under_short_teeth(Chance& chance) {
    Job job = any_job(chance);
    warm_up(chance, job, 1.5 * kMinute, 10 * kMinute, Growth::straight);
    const double length = chance.between(60 * kMinute, 2.5 * kHour);
    const double rate = job.level * chance.scaled(0.06, 0.4) / kHour;
    const double period = chance.between(30, 300);
    const double height = std::max(job.level * chance.between(0.08, 0.4), 14 * job.noise);
    job.shapes.push_back(leak(0, rate));
    job.shapes.push_back(teeth(chance, period, height, chance.flip(0.5) ? 0 : 0.15, length));
    return leaks(record(chance, job, length, {.interval = chance.flip(0.5) ? 1.0 : 3.0}), rate, 0);
}

// A few long teeth that are sampled often. Gaps in the samples hide some of their bottoms.
Labelled under_few_teeth(Chance& chance) {
    Job job = any_job(chance);
    job.base = 1;
    const double length = chance.between(80 * kMinute, 150 * kMinute);
    const double rate = job.level * chance.between(0.12, 0.4) / length;
    const Sampling sampling{.interval = chance.between(1, 10), .jitter = 0.5, .gaps = chance.whole(0, 2)};
    job.shapes.push_back(leak(0, rate));
    job.shapes.push_back(teeth(chance, length / chance.between(9, 16),
                               std::max(job.level * chance.between(0.1, 0.45), 14 * job.noise),
                               chance.flip(0.5) ? 0.1 : 0.25, length));
    return leaks(record(chance, job, length, sampling), rate, 0);
}

// A job that keeps more memory in each epoch, below the sawtooth of a garbage collector.
Labelled steps_under_teeth(Chance& chance) {
    Job job = any_job(chance);
    job.base = 1;
    const double epoch = chance.between(8 * kMinute, 20 * kMinute);
    const double length = std::max(epoch * chance.between(6, 12), 80 * kMinute);
    const double step = job.level * chance.scaled(0.02, 0.1);
    const double period = chance.between(40, 240);
    std::vector<double> steps;
    job.shapes.push_back(stairs(chance, epoch * chance.between(0.2, 1), epoch, step, 0.1, length, &steps));
    job.shapes.push_back(teeth(chance, period, std::max(job.level * chance.between(0.06, 0.4), 14 * job.noise),
                               chance.flip(0.5) ? 0 : 0.2, length));
    const Sampling sampling{.interval = period / chance.between(12, 40), .jitter = chance.flip(0.5) ? 0 : 0.5};
    return leaks(record(chance, job, length, sampling), step / epoch, steps.front());
}

// Spikes that hide the floor for a part of the time, and gaps in the samples during the leak.
Labelled late_with_gaps(Chance& chance) {
    Job job = any_job(chance);
    maybe_warm_up(chance, job, 15 * kMinute);
    job.noise = job.level * chance.scaled(0.0005, 0.002);
    const double began = chance.between(60 * kMinute, 90 * kMinute);
    const double length = began + chance.between(35 * kMinute, 60 * kMinute);
    const double rate = job.level * chance.scaled(0.15, 1) / kHour;
    const double period = chance.between(100, 300);
    job.shapes.push_back(leak(began, rate));
    job.shapes.push_back(spikes(chance, {.until = length,
                                         .period = period,
                                         .width = 0.2 * period,
                                         .height = job.level * chance.between(0.1, 0.4),
                                         .irregular = 0.2}));
    return leaks(record(chance, job, length, {.interval = chance.between(2, 10), .jitter = 0.5, .gaps = 2}), rate,
                 began);
}

constexpr Family kLeakingFamilies[] = {
    {"leak from the start", from_the_start},
    {"leak after the warm-up", after_warm_up},
    {"late leak", late},
    {"late leak after days", late_after_days},
    {"leak under spikes", under_spikes},
    {"leak in steps", in_steps},
    {"leak under teeth", under_teeth},
    {"leak with one step", with_one_step},
    {"leak with wander", with_wander},
    {"leak after a restart", after_restart},
    {"leak for days", for_days},
    {"leak, killed and restarted", killed_and_restarted},
    {"leak by epochs", epochs_that_keep_a_little},
    {"leak under short teeth", under_short_teeth},
    {"leak under few teeth", under_few_teeth},
    {"leak in steps under teeth", steps_under_teeth},
    {"leak under spikes, with gaps", late_with_gaps},
};

}  // namespace

Dying make_dying(std::uint64_t seed, bool stepped) {
    Chance chance(seed * 2 + (stepped ? 1 : 0));
    Job job = any_job(chance);
    // Use as little noise as real jobs have. With more, noise decides when a limit is crossed, which no forecast knows.
    job.noise = job.level * chance.scaled(0.00001, 0.001);
    maybe_warm_up(chance, job, 15 * kMinute);
    const double length = job.warm + chance.between(40 * kMinute, 3 * kHour);
    double rate = job.level * chance.scaled(0.1, 3) / kHour;
    if (stepped) {
        const double period = chance.between(2 * kMinute, 15 * kMinute);
        const double height = std::max(rate * period, 8 * job.noise);
        rate = height / period;
        job.shapes.push_back(
            stairs(chance, job.warm + chance.unit() * period, period, height, chance.flip(0.5) ? 0 : 0.1, length * 2));
    } else {
        job.shapes.push_back(leak(job.warm, rate));
        if (chance.flip(0.4))
            job.shapes.push_back(spikes(chance, {.until = length * 2,
                                                 .period = chance.between(60, 400),
                                                 .width = 15,
                                                 .height = job.level * chance.between(0.1, 0.6)}));
    }
    Dying dying{.job = record(chance, job, length * 1.5, {.interval = chance.flip(0.7) ? 1.0 : 5.0})};
    dying.job.stepped = stepped;
    dying.job.slope = rate;
    dying.limit = job.level + rate * (length - job.warm) + (stepped ? 0.5 * rate : 0);
    const auto death = std::ranges::find_if(dying.job.samples, [&](const auto& s) { return s.bytes >= dying.limit; });
    if (death != dying.job.samples.end()) dying.job.samples.erase(death + 1, dying.job.samples.end());
    return dying;
}

std::span<const Family> leaking_families() { return kLeakingFamilies; }

}  // namespace memscope::made
