// Jobs that grow and do not leak: warm-ups, caches, restarts, leaks that stopped.
#include <algorithm>

#include "series/job.h"

namespace memscope::made {
namespace {

Labelled warm_then_flat(Chance& chance, Growth growth) {
    Job job = any_job(chance);
    const double length = chance.scaled(25 * kMinute, 5 * kHour);
    warm_up(chance, job, 2 * kMinute, std::min(19.5 * kMinute, 0.6 * length), growth);
    Labelled made = record(chance, job, length);
    made.never_leaks = true;
    return made;
}
Labelled warm_straight(Chance& chance) { return warm_then_flat(chance, Growth::straight); }
Labelled warm_slowing(Chance& chance) { return warm_then_flat(chance, Growth::slowing); }
Labelled warm_s_shaped(Chance& chance) { return warm_then_flat(chance, Growth::s_shaped); }
Labelled warm_by_shards(Chance& chance) { return warm_then_flat(chance, Growth::shards); }

Labelled warm_with_pause(Chance& chance) {
    Job job = any_job(chance);
    const double length = chance.between(30 * kMinute, 3 * kHour);
    const double end = chance.between(8 * kMinute, 19.5 * kMinute);
    const double first = chance.between(0.2, 0.4) * end;
    const double again = chance.between(0.5, 0.7) * end;
    const double growth = job.level - job.cold();
    const double part = chance.between(0.3, 0.7);
    job.shapes.push_back(grow(chance, 0, first, growth * part, Growth::straight));
    job.shapes.push_back(grow(chance, again, end, growth * (1 - part), Growth::any));
    Labelled made = record(chance, job, length);
    made.never_leaks = true;
    return made;
}

Labelled warm_under_spikes(Chance& chance) {
    Job job = any_job(chance);
    const double length = chance.between(40 * kMinute, 3 * kHour);
    warm_up(chance, job, 4 * kMinute, 19 * kMinute);
    const double period = chance.between(60, length / 8);
    job.shapes.push_back(spikes(chance, {.until = length,
                                         .period = period,
                                         .width = std::max(15.0, 0.15 * period),
                                         .height = std::max(job.level * chance.scaled(0.08, 1), 14 * job.noise),
                                         .irregular = 0.2}));
    Labelled made = record(chance, job, length, {.interval = chance.flip(0.5) ? 1.0 : 5.0});
    made.verdict = Verdict::spiky;
    made.never_leaks = true;
    return made;
}

Labelled still_warming(Chance& chance) {
    Job job = any_job(chance);
    job.base = chance.between(0.08, 0.7);
    const double length = chance.between(6 * kMinute, 19 * kMinute);
    const double end = length * chance.between(1.15, 2.5);
    job.shapes.push_back(grow(chance, 0, end, job.level - job.cold(), Growth::straight));
    if (chance.flip(0.3))
        job.shapes.push_back(spikes(chance, {.until = length,
                                             .period = length / chance.between(6, 14),
                                             .width = 12,
                                             .height = job.level * chance.between(0.1, 0.6)}));
    Labelled made = record(chance, job, length, {.interval = chance.flip(0.5) ? 1.0 : 5.0});
    made.verdict = Verdict::warming_up;
    made.never_leaks = true;
    return made;
}

Labelled warming_again(Chance& chance) {  // grows again inside the budget, after a pause
    Job job = any_job(chance);
    job.base = chance.between(0.08, 0.6);
    const double length = chance.between(12 * kMinute, 19 * kMinute);
    const double growth = job.level - job.cold();
    job.shapes.push_back(grow(chance, 0, 0.25 * length, growth * 0.5, Growth::straight));
    job.shapes.push_back(
        grow(chance, 0.55 * length, length * chance.between(1.05, 1.5), growth * 0.5, Growth::straight));
    Labelled made = record(chance, job, length, {.interval = chance.flip(0.5) ? 1.0 : 5.0});
    made.verdict = Verdict::warming_up;
    made.never_leaks = true;
    return made;
}

Labelled warming_ever_more_slowly(Chance& chance) {  // beyond the budget, but within three times the budget
    Job job = any_job(chance);
    job.base = chance.between(0.08, 0.5);
    job.noise = job.level * chance.scaled(0.0001, 0.002);
    const double length = chance.between(25 * kMinute, 55 * kMinute);
    const double tau = length / chance.between(1.2, 2);
    const double whole = job.level - job.cold();
    job.shapes.push_back([=](double t) { return whole * (1 - std::exp(-t / tau)); });
    Labelled made = record(chance, job, length, {.interval = chance.flip(0.5) ? 1.0 : 10.0});
    made.verdict = Verdict::warming_up;
    return made;
}

Labelled second_warm_up(Chance& chance) {  // memory pools grow once more at the first validation
    Job job = any_job(chance);
    const double length = chance.between(50 * kMinute, 4 * kHour);
    maybe_warm_up(chance, job, 18 * kMinute);
    const double at = chance.between(22 * kMinute, 0.75 * length);
    job.shapes.push_back(
        grow(chance, at, at + chance.between(1, 170), job.level * chance.between(0.03, 0.5), Growth::any));
    return record(chance, job, length);
}

Labelled two_steps(Chance& chance) {
    Job job = any_job(chance);
    const double length = chance.between(1.5 * kHour, 4 * kHour);
    maybe_warm_up(chance, job, 18 * kMinute);
    const double first = chance.between(25 * kMinute, 0.4 * length);
    job.shapes.push_back(stop(stairs(chance, first, 0.3 * length, job.level * chance.between(0.03, 0.3), 0, length),
                              first + 0.5 * length));
    return record(chance, job, length);
}

// A job that keeps more memory from two moments on (a cache of the first epoch, compiled code), below a sawtooth.
Labelled two_steps_under_teeth(Chance& chance) {
    Job job = any_job(chance);
    job.base = 1;
    const double length = chance.between(1 * kHour, 4 * kHour);
    const Sampling sampling = any_sampling(chance, length);
    const double period = std::max(length / chance.between(12, 60), 10 * sampling.interval);
    const double tooth = std::max(job.level * chance.scaled(0.06, 0.5), 14 * job.noise);
    job.shapes.push_back(teeth(chance, period, tooth, chance.flip(0.5) ? 0 : chance.between(0, 0.25), length));
    const double step = job.level * chance.scaled(0.02, 0.3);
    const double first = chance.between(0.1, 0.45) * length;
    const double second = chance.between(0.55, 0.9) * length;
    const double part = chance.between(0.5, 1);
    job.shapes.push_back([=](double t) { return (t > first ? step : 0) + (t > second ? part * step : 0); });
    Labelled made = record(chance, job, length, sampling);
    made.verdict = Verdict::spiky;
    return made;
}

Labelled cache_fills(Chance& chance) {
    Job job = any_job(chance);
    const double length = chance.between(1.2 * kHour, 5 * kHour);
    maybe_warm_up(chance, job, 18 * kMinute);
    const double from = chance.between(job.warm, 0.3 * length);
    job.shapes.push_back(grow(chance, from, from + chance.between(0.3, 0.6) * (length - from),
                              job.level * chance.between(0.05, 0.6),
                              chance.flip(0.5) ? Growth::slowing : Growth::s_shaped));
    return record(chance, job, length);
}

Labelled leak_stopped(Chance& chance) {
    Job job = any_job(chance);
    const double length = chance.between(1 * kHour, 5 * kHour);
    maybe_warm_up(chance, job, 15 * kMinute);
    const double from = chance.between(job.warm, std::max(job.warm, 0.3 * length));
    const double until = from + chance.between(0.2, 0.65) * (length - from);
    job.shapes.push_back(stop(leak(from, job.level * chance.scaled(0.1, 2) / kHour), until));
    return record(chance, job, length);
}

// The flat part is as short as it may be to rule the old slope out.
Labelled leak_stopped_lately(Chance& chance) {
    Job job = any_job(chance);
    maybe_warm_up(chance, job, 15 * kMinute);
    const double from = job.warm + chance.between(0, 10 * kMinute);
    const double leaks_for = chance.between(15 * kMinute, 60 * kMinute);
    const double length = from + leaks_for * chance.between(1.45, 1.8);
    job.shapes.push_back(stop(leak(from, job.level * chance.scaled(0.15, 2) / kHour), from + leaks_for));
    return record(chance, job, length, {.interval = chance.between(1, 15), .jitter = chance.flip(0.5) ? 0 : 0.5});
}

Labelled restarted(Chance& chance) {
    Job job = any_job(chance);
    job.base = chance.between(0.05, 0.5);
    const double first = chance.between(15 * kMinute, 90 * kMinute);
    const double second = chance.between(30 * kMinute, 2 * kHour);
    const double growth = job.level - job.cold();
    const Shape before = sum({grow(chance, 0, chance.between(60, 0.6 * first), growth, Growth::any),
                              leak(0, chance.flip(0.4) ? job.level * chance.between(0.05, 0.5) / kHour : 0)});
    const Shape after = grow(chance, first, first + chance.between(60, 15 * kMinute), growth, Growth::any);
    job.shapes.push_back([=](double t) { return t < first ? before(t) : after(t); });
    return record(chance, job, first + second);
}

Labelled restarted_and_warming(Chance& chance) {
    Job job = any_job(chance);
    job.base = chance.between(0.05, 0.4);
    const double first = chance.between(20 * kMinute, 2 * kHour);
    const double second = chance.between(5 * kMinute, 15 * kMinute);
    const double growth = job.level - job.cold();
    const Shape before = grow(chance, 0, chance.between(60, 0.6 * first), growth, Growth::any);
    const Shape after = grow(chance, first, first + second * chance.between(1.1, 1.6), growth, Growth::straight);
    job.shapes.push_back([=](double t) { return t < first ? before(t) : after(t); });
    Labelled made = record(chance, job, first + second, {.interval = chance.flip(0.5) ? 1.0 : 5.0});
    made.verdict = Verdict::warming_up;
    return made;
}

constexpr Family kGrowingFamilies[] = {
    {"warm-up, straight", warm_straight},
    {"warm-up, slowing", warm_slowing},
    {"warm-up, s-shaped", warm_s_shaped},
    {"warm-up by shards", warm_by_shards},
    {"warm-up with a pause", warm_with_pause},
    {"warm-up under spikes", warm_under_spikes},
    {"still warming", still_warming},
    {"warming again", warming_again},
    {"warming ever more slowly", warming_ever_more_slowly},
    {"second warm-up", second_warm_up},
    {"two steps", two_steps},
    {"two steps under teeth", two_steps_under_teeth},
    {"cache that fills", cache_fills},
    {"leak that stopped", leak_stopped},
    {"leak that stopped lately", leak_stopped_lately},
    {"restarted", restarted},
    {"restarted and warming", restarted_and_warming},
};

}  // namespace

std::span<const Family> growing_families() { return kGrowingFamilies; }

}  // namespace memscope::made
