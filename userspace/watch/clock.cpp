#include "watch/clock.h"

#include <chrono>
#include <ctime>

namespace memscope {

Now read_clock() {
    timespec real{};
    timespec boot{};
    ::clock_gettime(CLOCK_REALTIME, &real);
    ::clock_gettime(CLOCK_BOOTTIME, &boot);
    return {static_cast<double>(real.tv_sec) + static_cast<double>(real.tv_nsec) * 1e-9,
            static_cast<std::uint64_t>(boot.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(boot.tv_nsec)};
}

Seconds boot_time() { return std::chrono::nanoseconds(read_clock().boot_ns); }

Seconds thread_cpu_time() {
    timespec used{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return Seconds{static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9};
}

}  // namespace memscope
