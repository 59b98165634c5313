#pragma once
#include "series/families.h"

namespace memscope::made {

// What families start from: a job of some size, watched for some time.
struct Job {
    double level = kGiB;  // what it holds when it is warm
    double noise = 0;     // bytes
    double base = 0.5;    // what of the level is there at the start
    double warm = 0;      // when the warm-up is over
    std::vector<Shape> shapes{};

    double cold() const { return level * base; }
};
Job any_job(Chance& chance);
// A warm-up that is over after `latest` at the latest.
void warm_up(Chance& chance, Job& job, double earliest, double latest, Growth growth = Growth::any);
// Some jobs start warm.
void maybe_warm_up(Chance& chance, Job& job, double latest);

Labelled record(Chance& chance, const Job& job, double length, const Sampling& sampling);
Labelled record(Chance& chance, const Job& job, double length);

// A job that ends and is started again: it holds little, loads its model, and then leaks or warms up.
struct Restarting {
    bool leaks = false;
};
Labelled restarted_runs(Chance& chance, const Restarting& restarting);

std::span<const Family> calm_families();
std::span<const Family> growing_families();
std::span<const Family> leaking_families();

}  // namespace memscope::made
