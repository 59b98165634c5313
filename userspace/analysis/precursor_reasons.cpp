#include "analysis/precursor_reasons.h"

#include <cmath>
#include <fmt/format.h>

#include "base/text.h"

namespace memscope {
namespace {

double share(Bytes part, Bytes whole) {
    return whole.n == 0 ? 0 : static_cast<double>(part.n) / static_cast<double>(whole.n);
}

// Rounded down: what is below its threshold never reads as having reached it.
std::string percent(double share) {
    const double value = std::floor(1000 * share + 1e-6) / 10;
    return value < 10 ? fmt::format("{:.1f} %", value) : fmt::format("{:.0f} %", std::floor(value));
}

// Whatever stands below that limit: of an ancestor's or the host's, siblings have their part.
Bytes held(const EffectiveLimit& limit) { return limit.limit - limit.headroom; }

std::string owner_of(const EffectiveLimit& limit) {
    const std::string size = human_size(limit.limit);
    if (limit.owner == "own") return "its own limit of " + size;
    if (limit.owner == "host") return "the host's memory of " + size;
    return fmt::format("the limit of {}, {}", printable(limit.owner), size);
}

}  // namespace

Reason eta_reason(const PrecursorSettings& settings, const PrecursorInputs& inputs) {
    if (!inputs.eta) return std::nullopt;
    const std::string left = human_duration(inputs.eta->left);
    if (!inputs.eta->warmup) {
        if (inputs.eta->left >= settings.eta) return std::nullopt;
        return fmt::format("it leaks, and at this rate memory runs out in {}: save a checkpoint now", left);
    }
    if (!inputs.limit || inputs.eta->left >= settings.eta_warmup) return std::nullopt;
    if (share(held(*inputs.limit), inputs.limit->limit) <= settings.eta_warmup_held) return std::nullopt;
    return fmt::format("it is still warming up and holds {} of {} ({}): at this rate memory runs out in {}",
                       human_size(held(*inputs.limit)), owner_of(*inputs.limit),
                       percent(share(held(*inputs.limit), inputs.limit->limit)), left);
}

Reason near_limit_reason(const PrecursorSettings& settings, const std::optional<EffectiveLimit>& limit) {
    if (!limit || limit->limit.n == 0) return std::nullopt;
    const double full = share(held(*limit), limit->limit);
    if (full < settings.near_limit) return std::nullopt;
    return fmt::format("{} of {} cannot be reclaimed ({}): with {} more a process is killed", human_size(held(*limit)),
                       owner_of(*limit), percent(full), human_size(limit->headroom));
}

Reason pressure_reason(const PrecursorSettings& settings, const std::optional<double>& full) {
    if (!full || *full < settings.pressure) return std::nullopt;
    return fmt::format("everything stood still for {} of the last 10 s, waiting for memory", percent(*full));
}

Reason reclaim_reason(const PrecursorSettings& settings, const std::optional<double>& stalled_seconds) {
    if (!stalled_seconds) return std::nullopt;
    const double part = *stalled_seconds / settings.reclaim_window.count();
    if (part < settings.reclaim || *stalled_seconds <= 0) return std::nullopt;
    return fmt::format(
        "its threads lost {:.1f} s of the last {} ({}) because they had to free memory before they got any",
        *stalled_seconds, human_duration(settings.reclaim_window), percent(part));
}

Reason refault_reason(const PrecursorSettings& settings, const std::optional<CounterRise>& bytes, Bytes usage) {
    if (!bytes || usage.n == 0) return std::nullopt;
    const double per_second = bytes->by / bytes->in.count();
    const double part = per_second / static_cast<double>(usage.n);
    if (part <= settings.refault) return std::nullopt;
    return fmt::format(
        "{} of what was just evicted is read back every second, {} of the {} it has: its working set does not fit",
        human_size(Bytes{static_cast<std::uint64_t>(per_second)}), percent(part), human_size(usage));
}

Reason high_throttled_reason(const std::optional<CounterRise>& events) {
    if (!events || events->by <= 0) return std::nullopt;
    return fmt::format("it went over memory.high {:.0f} times in the last {}, and the kernel slows it down each time",
                       std::max(events->by, 1.0), human_duration(events->in));
}

Reason shm_full_reason(const PrecursorSettings& settings, const std::optional<ShmUsage>& shm) {
    if (!shm || shm->size.n == 0 || share(shm->used, shm->size) < settings.shm_full) return std::nullopt;
    return fmt::format("/dev/shm holds {} of {} ({}): when it is full, who writes to it dies of SIGBUS",
                       human_size(shm->used), human_size(shm->size), percent(share(shm->used, shm->size)));
}

Reason host_low_reason(const PrecursorSettings& settings, const std::optional<HostMemory>& host) {
    if (!host) return std::nullopt;
    const Bytes part{static_cast<std::uint64_t>(settings.host_low * static_cast<double>(host->total.n))};
    const Bytes least = std::max(part, settings.host_low_least);
    if (host->available >= least) return std::nullopt;
    return fmt::format("the host has {} of its {} available, less than {}: the kernel may kill any process",
                       human_size(host->available), human_size(host->total), human_size(least));
}

}  // namespace memscope
