#pragma once
#include <cstdint>

#include "base/units.h"

namespace memscope {

// The current time. The collector passes it to code that must not read a clock itself (see CONTRIBUTING.md).
struct Now {
    double unix_seconds = 0;
    std::uint64_t boot_ns = 0;  // boot clock, as in start times of processes and in events

    // A time on the boot clock, as seconds since 1970.
    double to_unix(std::uint64_t at_boot_ns) const {
        return unix_seconds - (static_cast<double>(boot_ns) - static_cast<double>(at_boot_ns)) * 1e-9;
    }
};

Now read_clock();
Seconds boot_time();        // since the machine was started, suspended time included
Seconds thread_cpu_time();  // of the calling thread

}  // namespace memscope
