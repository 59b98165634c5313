#pragma once
#include "base/units.h"

namespace memscope {

// When a precursor stands. Shares are 0 to 1.
struct PrecursorSettings {
    Seconds eta = std::chrono::minutes(10);        // time to OOM of a leak, or to a spike that crosses the limit
    Seconds eta_warmup = std::chrono::minutes(2);  // of a warm-up or of the trend of the last minute,
    double eta_warmup_held = 0.8;                  // and only above this share of the limit
    double near_limit = 0.9;
    Seconds near_limit_for{30};
    double pressure = 0.1;
    double reclaim = 0.05;  // of the time below
    Seconds reclaim_window{60};
    double refault = 0.01;  // of usage, in a second
    Seconds refault_for{60};
    Seconds high_throttled{30};
    double shm_full = 0.9;
    double host_low = 0.02;                         // of the machine's memory,
    Bytes host_low_least{std::uint64_t{1} << 30U};  // and never less than this
    Seconds clear_after{60};                        // without its reason
};

}  // namespace memscope
