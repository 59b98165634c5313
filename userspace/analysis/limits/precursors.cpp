#include "analysis/limits/precursors.h"

#include <cmath>
#include <fmt/format.h>
#include <utility>

#include "analysis/heap/free_growth.h"
#include "analysis/heap/heap_sentence.h"
#include "analysis/limits/limit_sentence.h"

namespace memscope {

void CounterWindow::add(Seconds now, double total) {
    constexpr double kMostParts = 64;
    if (!values_.empty() && total < values_.back().total) values_.clear();
    if (!values_.empty() && now <= values_.back().time) return;
    // The newest value is kept exactly. Older ones are kept at this distance.
    if (values_.size() >= 2 && now - values_[values_.size() - 2].time < length_ / kMostParts) values_.pop_back();
    values_.push_back({now, total});
    while (values_.size() > 2 && values_[1].time <= now - length_) values_.pop_front();
}

std::optional<double> CounterWindow::rise() const {
    if (values_.size() < 2) return std::nullopt;
    const Value& last = values_.back();
    const Seconds begin = last.time - length_;
    const Value& first = values_.front();
    if (first.time >= begin) return last.total - first.total;
    const Value& next = values_[1];  // after the start of the window, because add() drops older values
    const double part = (next.time - begin) / (next.time - first.time);
    return last.total - next.total + part * (next.total - first.total);
}

bool CounterWindow::is_full() const {
    return values_.size() >= 2 && values_.back().time - values_.front().time >= length_;
}

namespace {

// A condition that must last for a while is checked in slices: a counter that the kernel updates every two seconds does
// not change in between, and that is not a break.
constexpr double kSlices = 6;

template <class Count>
void add_or_forget(CounterWindow& window, Seconds now, const std::optional<Count>& counted) {
    if (counted)
        window.add(now, static_cast<double>(*counted));
    else
        window.forget();  // after a gap the rise is measured from the next value
}

std::optional<CounterRise> rise_of(const CounterWindow& window, Seconds length) {
    const auto by = window.rise();
    if (!by || !window.is_full()) return std::nullopt;
    return CounterRise{*by, length};
}

bool is_of_host(const std::optional<EffectiveLimit>& limit) { return limit && limit->owner == "host"; }

// Call this only if `kind` has a reason at this tick, because alarming() is null otherwise.
bool concerns_host(PrecursorKind kind, const PrecursorSettings& settings, const PrecursorInputs& inputs) {
    switch (kind) {
        case PrecursorKind::eta:
            return is_of_host(alarming(settings, inputs)->limit);
        case PrecursorKind::near_limit:
            return is_of_host(inputs.limit);
        case PrecursorKind::host_low:
            return true;
        default:
            return false;
    }
}

// The whole reason is kept until the precursor ends, so that its two halves never come from different ticks.
Reason with_free_memory(Reason reason, const PrecursorInputs& inputs) {
    if (reason && !inputs.free_memory.empty()) *reason += "; " + inputs.free_memory;
    return reason;
}

// False for the precursors about /dev/shm and the host, because their conditions do not end with the processes.
bool is_about_processes(PrecursorKind kind) {
    return kind != PrecursorKind::shm_full && kind != PrecursorKind::host_low;
}

}  // namespace

PrecursorInputs precursor_inputs(const TargetSnapshot& target, const HostMemory& host, std::vector<Forecast> forecasts,
                                 std::optional<Seconds> job_ended, double now) {
    const MemoryState& memory = target.memory;
    PrecursorInputs inputs;
    if (const ScopeVerdict* verdict = target.verdict()) {
        inputs.verdict = verdict->judgement.verdict;
        inputs.allocator_grows = verdict->cause && is_free_memory(verdict->cause->kind);
    }
    if (memory.effective) inputs.free_memory = much_free_memory_sentence(target, memory.effective->held(), now);
    inputs.limit = memory.effective;
    if (memory.pressure) inputs.pressure_full = memory.pressure->full_avg10;
    if (target.reclaim) inputs.reclaim_stalled = target.reclaim->total();
    inputs.refaulted = memory.refaulted;
    if (memory.events) inputs.high_events = memory.events->high;
    inputs.usage = memory.usage;
    inputs.shm = target.shm;
    inputs.host = host;
    inputs.forecasts = std::move(forecasts);
    inputs.job_ended = job_ended;
    return inputs;
}

Precursors::Precursors(const PrecursorSettings& settings)
    : settings_(settings),
      stalls_(settings.reclaim_window),
      refaults_(settings.refault_for / kSlices),
      highs_(settings.high_throttled / kSlices) {}

std::vector<Precursor> Precursors::consider(Seconds now, const PrecursorInputs& inputs) {
    count(now, inputs);
    const bool just_ended = std::exchange(job_ended_, inputs.job_ended) != inputs.job_ended;
    std::vector<Precursor> standing;
    for (std::size_t i = 0; i < kKinds; ++i) {
        const PrecursorKind kind = kPrecursorKinds[i];
        State& state = states_[i];
        // The condition was about processes that have exited, so it has to begin again.
        if (just_ended && is_about_processes(kind)) state.reasoned_since.reset();
        auto reason = reason_for(kind, inputs);
        if (reason) state.of_host = concerns_host(kind, settings_, inputs);
        const bool of_exited_job = inputs.job_ended && state.standing_since && is_about_processes(kind) &&
                                   *state.standing_since <= *inputs.job_ended;
        settle(state, now, std::move(reason), needed(kind), of_exited_job ? Seconds{} : settings_.clear_after);
        if (state.standing_since)
            standing.push_back({kind, state.standing_since->count(), state.reason, state.of_host});
    }
    return standing;
}

void Precursors::count(Seconds now, const PrecursorInputs& inputs) {
    add_or_forget(stalls_, now, inputs.reclaim_stalled ? std::optional(inputs.reclaim_stalled->count()) : std::nullopt);
    add_or_forget(refaults_, now, inputs.refaulted ? std::optional(inputs.refaulted->n) : std::nullopt);
    add_or_forget(highs_, now, inputs.high_events);
}

std::optional<std::string> Precursors::reason_for(PrecursorKind kind, const PrecursorInputs& inputs) const {
    switch (kind) {
        case PrecursorKind::eta:
            return with_free_memory(eta_reason(settings_, inputs), inputs);
        case PrecursorKind::near_limit:
            return with_free_memory(near_limit_reason(settings_, inputs.limit), inputs);
        case PrecursorKind::pressure:
            return pressure_reason(settings_, inputs.pressure_full);
        case PrecursorKind::reclaim:
            return reclaim_reason(settings_, stalls_.rise());
        case PrecursorKind::refault:
            return refault_reason(settings_, rise_of(refaults_, settings_.refault_for / kSlices), inputs.usage);
        case PrecursorKind::high_throttled:
            return high_throttled_reason(rise_of(highs_, settings_.high_throttled / kSlices));
        case PrecursorKind::shm_full:
            return shm_full_reason(settings_, inputs.shm);
        case PrecursorKind::host_low:
            return host_low_reason(settings_, inputs.host);
    }
    return std::nullopt;
}

Seconds Precursors::needed(PrecursorKind kind) const {
    switch (kind) {
        case PrecursorKind::near_limit:
            return settings_.near_limit_for;
        case PrecursorKind::refault:
            return settings_.refault_for;
        case PrecursorKind::high_throttled:
            return settings_.high_throttled;
        default:
            return Seconds{};
    }
}

void Precursors::settle(State& state, Seconds now, std::optional<std::string> reason, Seconds needed,
                        Seconds hold) const {
    if (!reason) {
        state.reasoned_since.reset();
        if (state.standing_since && now - state.reasoned_last >= hold) state.standing_since.reset();
        return;
    }
    if (!state.reasoned_since) state.reasoned_since = now;
    if (!state.standing_since && now - *state.reasoned_since < needed) return;
    if (!state.standing_since) state.standing_since = now;
    state.reasoned_last = now;
    state.reason = *std::move(reason);
}

namespace {

double share(Bytes part, Bytes whole) {
    return whole.n == 0 ? 0 : static_cast<double>(part.n) / static_cast<double>(whole.n);
}

// Rounded down, so that a share below a threshold is never printed as having reached it.
std::string percent(double share) {
    const double value = std::floor(1000 * share + 1e-6) / 10;
    return value < 10 ? fmt::format("{:.1f} %", value) : fmt::format("{:.0f} %", std::floor(value));
}

// False if most of the growth is memory that an allocator keeps free, or if the reason has a text about such memory,
// because that text says that the growth is not a leak.
bool is_called_leak(const PrecursorInputs& inputs) { return !inputs.allocator_grows && inputs.free_memory.empty(); }

std::string_view plain_word(const PrecursorInputs& inputs) {
    switch (inputs.verdict) {
        case Verdict::insufficient:
            return "is not judged yet";
        case Verdict::warming_up:
            return "is warming up";
        case Verdict::stable:
            return "is stable";
        case Verdict::spiky:
            return "is spiky";
        case Verdict::leaking:
            return is_called_leak(inputs) ? "leaks, too" : "grows, too";
    }
    return "";
}

std::string left_text(const Forecast& forecast) {
    return forecast.eta > Seconds{} ? "in " + human_duration(forecast.eta) : "now";
}

bool is_own(const EffectiveLimit& limit) { return limit.owner == "own"; }

// Says whether this job or other jobs fill the limit of an ancestor or of the host. If other jobs do, adds the verdict
// of this job, which may be healthy.
std::string by_whom(const Forecast& forecast, const PrecursorInputs& inputs) {
    if (is_own(*forecast.limit)) return "";
    if (forecast.own_share >= 0.5) return ", mostly because of this job";
    return fmt::format(", mostly because of other jobs (this job {})", plain_word(inputs));
}

std::string held_text(const EffectiveLimit& limit) {
    return fmt::format("{} of {} ({})", human_size(limit.held()), limit_and_size(limit), percent(limit.held_share()));
}

std::string leak_reason(const Forecast& forecast, const PrecursorInputs& inputs) {
    if (is_own(*forecast.limit))
        return fmt::format("it {}, and at this rate {} is full {}: save a checkpoint now",
                           is_called_leak(inputs) ? "leaks" : "grows", limit_and_size(*forecast.limit),
                           left_text(forecast));
    return fmt::format("{} fills up at {}{}, and is full {}: save a checkpoint now", limit_and_size(*forecast.limit),
                       human_rate(forecast.rate), by_whom(forecast, inputs), left_text(forecast));
}

std::string spike_reason(const Forecast& forecast) {
    const std::string whose = is_own(*forecast.limit) ? "the next spike" : "the next spike in the memory of all jobs";
    return fmt::format("{} would cross {} {}", whose, limit_and_size(*forecast.limit), left_text(forecast));
}

std::string warmup_reason(const Forecast& forecast) {
    const bool alone = is_own(*forecast.limit);
    return fmt::format("it is still warming up and holds{} {}: at this rate memory runs out {}",
                       alone ? "" : ", together with other jobs,", held_text(*forecast.limit), left_text(forecast));
}

std::string trend_reason(const Forecast& forecast, const PrecursorInputs& inputs) {
    return fmt::format("{} are in use and lately rose by {}{}: at this rate memory runs out {}, save a checkpoint now",
                       held_text(*forecast.limit), human_rate(forecast.rate), by_whom(forecast, inputs),
                       left_text(forecast));
}

}  // namespace

const Forecast* alarming(const PrecursorSettings& settings, const PrecursorInputs& inputs) {
    const auto is_near = [&](const std::optional<EffectiveLimit>& limit) {
        return limit && limit->held_share() > settings.eta_warmup_held;
    };
    for (const Forecast& forecast : inputs.forecasts) {
        if (!forecast.limit) continue;
        const bool by_verdict = forecast.basis == Forecast::Basis::leak || forecast.basis == Forecast::Basis::spike;
        // A warm-up may end, and so may a rise of one minute, so these count only near the limit.
        if (!by_verdict && !is_near(forecast.limit) && !is_near(inputs.limit)) continue;
        if (forecast.eta < (by_verdict ? settings.eta : settings.eta_warmup)) return &forecast;
    }
    return nullptr;
}

Reason eta_reason(const PrecursorSettings& settings, const PrecursorInputs& inputs) {
    const Forecast* found = alarming(settings, inputs);
    if (!found) return std::nullopt;
    const Forecast& forecast = *found;
    switch (forecast.basis) {
        case Forecast::Basis::leak:
            return leak_reason(forecast, inputs);
        case Forecast::Basis::spike:
            return spike_reason(forecast);
        case Forecast::Basis::warmup:
            return warmup_reason(forecast);
        case Forecast::Basis::trend:
            return trend_reason(forecast, inputs);
    }
    return std::nullopt;
}

Reason near_limit_reason(const PrecursorSettings& settings, const std::optional<EffectiveLimit>& limit) {
    if (!limit || limit->limit.n == 0) return std::nullopt;
    if (limit->held_share() < settings.near_limit) return std::nullopt;
    return fmt::format("{} of {} cannot be reclaimed ({}): after {} more the kernel kills a process",
                       human_size(limit->held()), limit_and_size(*limit), percent(limit->held_share()),
                       human_size(limit->headroom));
}

Reason pressure_reason(const PrecursorSettings& settings, const std::optional<double>& full) {
    if (!full || *full < settings.pressure) return std::nullopt;
    return fmt::format("all its threads waited for memory during {} of the last 10 s", percent(*full));
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
        "it reads back {} of just evicted memory every second, {} of the {} it has: its working set does not fit",
        human_size(Bytes{static_cast<std::uint64_t>(per_second)}), percent(part), human_size(usage));
}

Reason high_throttled_reason(const std::optional<CounterRise>& events) {
    if (!events || events->by <= 0) return std::nullopt;
    return fmt::format("it went over memory.high {:.0f} times in the last {}, and the kernel slows it down each time",
                       std::max(events->by, 1.0), human_duration(events->in));
}

Reason shm_full_reason(const PrecursorSettings& settings, const std::optional<ShmUsage>& shm) {
    if (!shm || shm->size.n == 0 || share(shm->used, shm->size) < settings.shm_full) return std::nullopt;
    return fmt::format("/dev/shm holds {} of {} ({}): when it is full, a process that writes to it is killed by SIGBUS",
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
