#pragma once
#include "series/families.h"

namespace memscope::made {

// The job from which a family makes a series.
struct Job {
    double level = kGiB;  // bytes after the warm-up
    double noise = 0;     // standard deviation in bytes
    double base = 0.5;    // the part of the level that is present at the start
    double warm = 0;      // when the warm-up is over, in seconds
    std::vector<Shape> shapes{};

    double cold() const { return level * base; }
};
Job any_job(Chance& chance);
// Adds a warm-up that ends between `earliest` and `latest`, in seconds.
void warm_up(Chance& chance, Job& job, double earliest, double latest, Growth growth = Growth::any);
// Adds a warm-up, or lets the job start at its full level.
void maybe_warm_up(Chance& chance, Job& job, double latest);

Labelled record(Chance& chance, const Job& job, double length, const Sampling& sampling);
Labelled record(Chance& chance, const Job& job, double length);

// A job that is restarted several times. Each run starts small, loads its model, and then leaks or warms up.
struct Restarting {
    bool leaks = false;
};
Labelled restarted_runs(Chance& chance, const Restarting& restarting);

std::span<const Family> calm_families();
std::span<const Family> growing_families();
std::span<const Family> leaking_families();

}  // namespace memscope::made
