#pragma once
#include <algorithm>
#include <cstdio>
#include <exception>
#include <fmt/format.h>
#include <sys/resource.h>
#include <vector>

namespace memscope {

// The machine is shared and noisy. So benchmarks measure CPU time, not wall time, run both sides in turns within one
// run, and take the median of rounds. Only ratios are reliable.
inline double cpu_ms(int who = RUSAGE_SELF) {
    rusage usage{};
    ::getrusage(who, &usage);
    const auto ms = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_usec) * 1e-3;
    };
    return ms(usage.ru_utime) + ms(usage.ru_stime);
}

inline double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values.empty() ? 0 : values[values.size() / 2];
}

template <class Work>
double cpu_of(Work work, int who = RUSAGE_SELF) {
    const double before = cpu_ms(who);
    work();
    return cpu_ms(who) - before;
}

// Runs a benchmark and returns the exit status of main(). Catches exceptions, so that a benchmark that fails prints
// why, and destructors restore what it changed on this machine.
template <class Bench>
int report_of(Bench bench) {
    try {
        bench();
        return 0;
    } catch (const std::exception& failure) {
        std::fflush(stdout);
        fmt::print(stderr, "FAILED: {}\n", failure.what());
        return 1;
    }
}

}  // namespace memscope
