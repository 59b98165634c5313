#include "outputs/metrics/metric_table.h"

namespace memscope {
namespace {

// Calls read(verdict, labels) for each scope of each target; the labels are target, scope, role, rank, gpu.
template <class Read>
void each_scope(const Snapshot& snapshot, Read read) {
    const auto targets = target_labels(snapshot);
    for (std::size_t i = 0; i < targets.size(); ++i)
        for (const ScopeVerdict& verdict : snapshot.targets[i].verdicts) {
            const auto& role = verdict.role;
            read(verdict, std::vector<std::string>{targets[i], std::string(name_of(verdict.scope)),
                                                   role ? std::string(name_of(role->role)) : "",
                                                   role && role->rank ? std::to_string(*role->rank) : "", verdict.gpu});
        }
}

void floor(const Snapshot& snapshot, Samples& out) {
    each_scope(snapshot, [&](const ScopeVerdict& verdict, const std::vector<std::string>& labels) {
        if (verdict.judgement.samples > 0) out.add(labels, static_cast<double>(verdict.judgement.floor.n));
    });
}

void slope(const Snapshot& snapshot, Samples& out) {
    each_scope(snapshot, [&](const ScopeVerdict& verdict, const std::vector<std::string>& labels) {
        if (verdict.judgement.verdict != Verdict::insufficient) out.add(labels, verdict.judgement.floor_slope);
    });
}

void verdicts(const Snapshot& snapshot, Samples& out) {
    each_scope(snapshot, [&](const ScopeVerdict& verdict, std::vector<std::string> labels) {
        labels.emplace_back();
        for (const Verdict each : kVerdicts) {
            labels.back() = word(each);
            out.add(labels, verdict.judgement.verdict == each ? 1 : 0);
        }
    });
}

void suspected(const Snapshot& snapshot, Samples& out) {
    each_scope(snapshot, [&](const ScopeVerdict& verdict, const std::vector<std::string>& labels) {
        out.add(labels, verdict.suspect ? 1 : 0);
    });
}

// A spike that would cross the limit is exported as basis `leak`: both end in a kill, and the label has no value for
// spikes.
void eta(const Snapshot& snapshot, Samples& out) {
    each_scope(snapshot, [&](const ScopeVerdict& verdict, std::vector<std::string> labels) {
        if (!verdict.forecast) return;
        const Forecast::Basis basis = verdict.forecast->basis;
        labels.emplace_back(word(basis == Forecast::Basis::spike ? Forecast::Basis::leak : basis));
        out.add(labels, verdict.forecast->eta.count());
    });
}

// Calls read(limit, label) for each target that has a forecast, with the limit that is reached first.
template <class Read>
void each_first_limit(const Snapshot& snapshot, Read read) {
    const auto targets = target_labels(snapshot);
    for (std::size_t i = 0; i < targets.size(); ++i)
        if (const ScopeVerdict* verdict = snapshot.targets[i].verdict())
            if (verdict->forecast && verdict->forecast->limit) read(*verdict->forecast->limit, targets[i]);
}

void eta_limit(const Snapshot& snapshot, Samples& out) {
    each_first_limit(snapshot, [&](const EffectiveLimit& limit, const std::string& label) {
        out.add({label}, static_cast<double>(limit.limit.n));
    });
}

void eta_headroom(const Snapshot& snapshot, Samples& out) {
    each_first_limit(snapshot, [&](const EffectiveLimit& limit, const std::string& label) {
        out.add({label}, static_cast<double>(limit.headroom.n));
    });
}

void eta_limit_owner(const Snapshot& snapshot, Samples& out) {
    each_first_limit(
        snapshot, [&](const EffectiveLimit& limit, const std::string& label) { add_owner(out, label, limit.owner); });
}

constexpr Metric kVerdictMetrics[] = {
    {"memscope_floor_bytes",
     kGauge,
     "The floor of the memory of a scope (target: unreclaimable memory; role: own anonymous memory; gpu: memory that "
     "the target holds on the GPU; pinned: pinned host memory).",
     {"target", "scope", "role", "rank", "gpu"},
     floor},
    {"memscope_floor_slope_bytes_per_second",
     kGauge,
     "How fast the floor rises.",
     {"target", "scope", "role", "rank", "gpu"},
     slope},
    {"memscope_verdict",
     kGauge,
     "1 for the current verdict (insufficient, warming_up, stable, spiky, leaking), 0 for the others.",
     {"target", "scope", "role", "rank", "gpu", "verdict"},
     verdicts},
    {"memscope_leak_suspected",
     kGauge,
     "1 while a container of Python is suspected to leak before there is a verdict: it has gained items for 30 s, has "
     "given none back, and is a meaningful part of the growth of the scope; otherwise 0.",
     {"target", "scope", "role", "rank", "gpu"},
     suspected},
    {"memscope_oom_eta_seconds",
     kGauge,
     "Time until a limit is reached (the first of its own, its ancestors' and the host's), or a GPU is full, if growth "
     "continues at its present rate; absent if nothing grows towards it. The basis is a leak, a warm-up, or the trend "
     "of the last minute.",
     {"target", "scope", "role", "rank", "gpu", "basis"},
     eta},
    {"memscope_oom_eta_limit_bytes",
     kGauge,
     "The limit that is reached first: memscope_oom_eta_seconds of the target is about it, and both are absent "
     "together. The effective limit, the one with the least headroom, may be another.",
     {"target"},
     eta_limit},
    {"memscope_oom_eta_headroom_bytes",
     kGauge,
     "Bytes that are left below the limit that is reached first; absent if nothing grows towards a limit.",
     {"target"},
     eta_headroom},
    {"memscope_oom_eta_limit_owner",
     kGauge,
     "1 for the owner of the limit that is reached first (own, ancestor, host, numa), 0 for the others; absent if "
     "nothing grows towards a limit.",
     {"target", "owner"},
     eta_limit_owner},
};

}  // namespace

std::span<const Metric> verdict_metrics() { return kVerdictMetrics; }

}  // namespace memscope
