#include "series/shapes.h"

#include <algorithm>
#include <memory>

namespace memscope::made {
namespace {

Shape shards(Chance& chance, double from, double to, double bytes) {
    const int count = chance.whole(4, 12);
    auto ends = std::make_shared<std::vector<double>>();
    for (int i = 0; i < count; ++i) ends->push_back(from + (to - from) * (i + chance.between(0.3, 1)) / count);
    return [=](double t) {
        const auto loaded = std::ranges::lower_bound(*ends, t) - ends->begin();
        return bytes * static_cast<double>(loaded) / count;
    };
}

struct Visit {
    double at;
    double height;
};

}  // namespace

Shape grow(Chance& chance, double from, double to, double bytes, Growth growth) {
    if (growth == Growth::any) growth = static_cast<Growth>(chance.whole(0, 3));
    const double length = to - from;
    switch (growth) {
        case Growth::slowing: {
            const double tau = length / std::log(100.0);
            return [=](double t) { return t < from ? 0 : bytes * (1 - std::exp(-(t - from) / tau)); };
        }
        case Growth::s_shaped:
            return [=](double t) {
                const double x = std::clamp((t - from) / length, 0.0, 1.0);
                return bytes * x * x * (3 - 2 * x);
            };
        case Growth::shards:
            return shards(chance, from, to, bytes);
        default:
            return [=](double t) { return bytes * std::clamp((t - from) / length, 0.0, 1.0); };
    }
}

Shape leak(double from, double bytes_per_second) {
    return [=](double t) { return bytes_per_second * std::max(0.0, t - from); };
}

Shape stop(Shape shape, double at) {
    return [=, shape = std::move(shape)](double t) { return shape(std::min(t, at)); };
}

Shape spikes(Chance& chance, const Spiking& spiking) {
    auto visits = std::make_shared<std::vector<Visit>>();
    for (double t = spiking.from + chance.between(0.2, 1) * spiking.period;
         t < spiking.until && visits->size() < 20000;) {
        visits->push_back({t, spiking.height * (1 + spiking.irregular * chance.between(-0.5, 0.5))});
        t += spiking.period * (1 + spiking.irregular * chance.between(-0.7, 0.7));
    }
    const double width = spiking.width;
    const int form = chance.whole(0, 2);
    return [=](double t) {
        const auto next = std::ranges::upper_bound(*visits, t, {}, &Visit::at);
        if (next == visits->begin()) return 0.0;
        const Visit& visit = *std::prev(next);
        const double x = (t - visit.at) / width;
        if (form == 0) return x < 1 ? visit.height : 0;                         // a rectangle
        if (form == 1) return x < 1 ? visit.height * std::min(1.0, 3 * x) : 0;  // rises slowly, falls at once
        return x < 1 ? visit.height * std::min(1.0, 3 * (1 - x)) : 0;           // rises at once, falls slowly
    };
}

Shape teeth(Chance& chance, double period, double height, double irregular, double until) {
    auto falls = std::make_shared<std::vector<double>>();
    for (double t = -period * chance.unit(); t < until + 2 * period;) {
        falls->push_back(t);
        t += period * (1 + irregular * chance.between(-1, 1));
    }
    return [=](double t) {
        const auto next = std::ranges::upper_bound(*falls, t);
        if (next == falls->begin()) return 0.0;
        return height * (t - *std::prev(next)) / period;
    };
}

Shape stairs(Chance& chance, double from, double period, double height, double irregular, double until,
             std::vector<double>* where) {
    auto steps = std::make_shared<std::vector<double>>();
    for (int i = 0; from + i * period < until; ++i)
        steps->push_back(from + (i + irregular * chance.between(-0.5, 0.5)) * period);
    if (where) *where = *steps;
    return [=](double t) { return height * static_cast<double>(std::ranges::upper_bound(*steps, t) - steps->begin()); };
}

Shape waves(Chance& chance, double height, double shortest, double longest) {
    struct Wave {
        double height, period, phase;
    };
    auto all = std::make_shared<std::vector<Wave>>();
    const int count = chance.whole(1, 4);
    for (int i = 0; i < count; ++i)
        all->push_back(
            {height * chance.between(0.4, 1) / count, chance.scaled(shortest, longest), chance.between(0, 6.28)});
    return [=](double t) {
        double sum = 0;
        for (const Wave& wave : *all)
            sum += wave.height * std::sin(2 * std::numbers::pi * t / wave.period + wave.phase);
        return sum;
    };
}

Shape sum(std::vector<Shape> shapes) {
    return [shapes = std::move(shapes)](double t) {
        double bytes = 0;
        for (const Shape& shape : shapes) bytes += shape(t);
        return bytes;
    };
}

Sampling any_sampling(Chance& chance, double length) {
    constexpr double kIntervals[] = {1, 1, 2, 5, 10, 15, 30, 60};
    Sampling sampling;
    do {
        sampling.interval = kIntervals[chance.whole(0, 7)];
    } while (length / sampling.interval < 100 || length / sampling.interval > 90000);
    sampling.jitter = chance.flip(0.5) ? 0 : chance.between(0.05, 0.9);
    sampling.gaps = chance.flip(0.7) ? 0 : chance.whole(1, 3);
    return sampling;
}

std::vector<double> times(Chance& chance, const Sampling& sampling, double length) {
    std::vector<std::pair<double, double>> gaps;
    for (int i = 0; i < sampling.gaps; ++i) {
        const double from = chance.between(0.05, 0.85) * length;
        gaps.emplace_back(from, from + chance.between(0.01, 0.06) * length);
    }
    std::vector<double> times;
    for (double t = 0; t <= length; t += sampling.interval * (1 + sampling.jitter * chance.between(-0.95, 0.95)))
        if (std::ranges::none_of(gaps, [&](const auto& gap) { return t > gap.first && t < gap.second; }))
            times.push_back(std::round(t * 1000) / 1000);
    return times;
}

std::vector<double> rough_wander(Chance& chance, const std::vector<double>& times, double spread, double memory) {
    std::vector<double> values;
    double value = spread * chance.normal();
    double before = 0;
    for (const double t : times) {
        const double kept = std::exp(-(t - before) / memory);
        value = value * kept + spread * std::sqrt(std::max(0.0, 1 - kept * kept)) * chance.normal();
        before = t;
        values.push_back(value);
    }
    return values;
}

}  // namespace memscope::made
