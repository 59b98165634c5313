#include "analysis/precursors.h"

#include <utility>

#include "analysis/precursor_reasons.h"

namespace memscope {
namespace {

// What must go on for a while is looked at in slices: a counter that the kernel brings up to date every two seconds
// stands still in between, and that is no break.
constexpr double kSlices = 6;

template <class Count>
void tell(CounterWindow& window, Seconds now, const std::optional<Count>& counted) {
    if (counted)
        window.tell(now, static_cast<double>(*counted));
    else
        window.forget();  // what comes after a gap is measured from there
}

std::optional<CounterRise> rise_of(const CounterWindow& window, Seconds length) {
    const auto by = window.rise();
    if (!by || !window.is_full()) return std::nullopt;
    return CounterRise{*by, length};
}

bool is_of_host(const std::optional<EffectiveLimit>& limit) { return limit && limit->owner == "host"; }

// `kind` has a reason.
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

// The others are about /dev/shm and the host, which remain when processes die.
bool is_about_processes(PrecursorKind kind) {
    return kind != PrecursorKind::shm_full && kind != PrecursorKind::host_low;
}

}  // namespace

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
        if (just_ended && is_about_processes(kind)) state.reasoned_since.reset();  // it was about the dead
        auto reason = reason_for(kind, inputs);
        if (reason) state.of_host = concerns_host(kind, settings_, inputs);
        const bool of_the_dead = inputs.job_ended && state.standing_since && is_about_processes(kind) &&
                                 *state.standing_since <= *inputs.job_ended;
        settle(state, now, std::move(reason), needed(kind), of_the_dead ? Seconds{} : settings_.clear_after);
        if (state.standing_since)
            standing.push_back({kind, state.standing_since->count(), state.reason, state.of_host});
    }
    return standing;
}

void Precursors::count(Seconds now, const PrecursorInputs& inputs) {
    tell(stalls_, now, inputs.reclaim_stalled ? std::optional(inputs.reclaim_stalled->count()) : std::nullopt);
    tell(refaults_, now, inputs.refaulted ? std::optional(inputs.refaulted->n) : std::nullopt);
    tell(highs_, now, inputs.high_events);
}

std::optional<std::string> Precursors::reason_for(PrecursorKind kind, const PrecursorInputs& inputs) const {
    switch (kind) {
        case PrecursorKind::eta:
            return eta_reason(settings_, inputs);
        case PrecursorKind::near_limit:
            return near_limit_reason(settings_, inputs.limit);
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

}  // namespace memscope
