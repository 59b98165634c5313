#pragma once
#include <functional>
#include <vector>

#include "series/chance.h"

namespace memscope::made {

constexpr double kGiB = 1024.0 * 1024 * 1024;
constexpr double kMinute = 60;
constexpr double kHour = 3600;
constexpr double kBudget = 20 * kMinute;  // the usual warm-up

using Shape = std::function<double(double)>;  // bytes at a time, in seconds since the start

enum class Growth { straight, slowing, s_shaped, shards, any };

// Grows from 0 at `from` to `bytes` at `to`. Growth::slowing reaches 99 % of `bytes` at `to`.
Shape grow(Chance& chance, double from, double to, double bytes, Growth growth);
Shape leak(double from, double bytes_per_second);
Shape stop(Shape shape, double at);  // constant from `at` on

// Short rises that recur, as at validation passes and checkpoints.
struct Spiking {
    double from = 0;
    double until = 1e12;
    double period = 300;
    double width = 20;
    double height = kGiB;
    double irregular = 0;  // variation of the distances and heights, 0 to 1
};
Shape spikes(Chance& chance, const Spiking& spiking);
// A sawtooth as from a garbage collector: rises steadily, falls at once.
Shape teeth(Chance& chance, double period, double height, double irregular, double until);
// Steps of equal height, as from a validation pass that leaks. `where` gets the times of the steps.
Shape stairs(Chance& chance, double from, double period, double height, double irregular, double until,
             std::vector<double>* where = nullptr);
// Slow waves without a trend.
Shape waves(Chance& chance, double height, double shortest, double longest);

Shape sum(std::vector<Shape> shapes);

// When samples are taken.
struct Sampling {
    double interval = 1;
    double jitter = 0;  // as a part of the interval
    int gaps = 0;
};
Sampling any_sampling(Chance& chance, double length);
std::vector<double> times(Chance& chance, const Sampling& sampling, double length);

// Random drift: noise with an autocorrelation time of `memory` seconds.
std::vector<double> rough_wander(Chance& chance, const std::vector<double>& times, double spread, double memory);

}  // namespace memscope::made
