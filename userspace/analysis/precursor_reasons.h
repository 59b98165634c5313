#pragma once
#include <optional>
#include <string>

#include "analysis/precursors.h"

namespace memscope {

// Each has its sentence while the condition of its precursor holds, whether or not for long enough to stand.
using Reason = std::optional<std::string>;

// A rise of a counter and the time it took.
struct CounterRise {
    double by = 0;
    Seconds in{};
};

// The earliest forecast that `eta` stands for; null: none is near enough.
const Forecast* alarming(const PrecursorSettings& settings, const PrecursorInputs& inputs);
Reason eta_reason(const PrecursorSettings& settings, const PrecursorInputs& inputs);
Reason near_limit_reason(const PrecursorSettings& settings, const std::optional<EffectiveLimit>& limit);
Reason pressure_reason(const PrecursorSettings& settings, const std::optional<double>& full);
Reason reclaim_reason(const PrecursorSettings& settings, const std::optional<double>& stalled_seconds);
Reason refault_reason(const PrecursorSettings& settings, const std::optional<CounterRise>& bytes, Bytes usage);
Reason high_throttled_reason(const std::optional<CounterRise>& events);
Reason shm_full_reason(const PrecursorSettings& settings, const std::optional<ShmUsage>& shm);
Reason host_low_reason(const PrecursorSettings& settings, const std::optional<HostMemory>& host);

}  // namespace memscope
