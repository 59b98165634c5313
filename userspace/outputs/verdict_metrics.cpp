#include "outputs/metric_table.h"

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

// A spike that would cross the limit kills as surely as a leak: the label knows no third word.
void eta(const Snapshot& snapshot, Samples& out) {
    each_scope(snapshot, [&](const ScopeVerdict& verdict, std::vector<std::string> labels) {
        if (!verdict.forecast) return;
        labels.emplace_back(verdict.forecast->basis == Forecast::Basis::warmup ? "warmup" : "leak");
        out.add(labels, verdict.forecast->eta.count());
    });
}

constexpr auto kGauge = MetricKind::gauge;

constexpr Metric kVerdictMetrics[] = {
    {"memscope_floor_bytes",
     kGauge,
     "The floor under the memory of a scope (target: what cannot be reclaimed; role: anonymous memory that it holds "
     "for itself; gpu: what the "
     "target holds of it; pinned: its pinned host memory).",
     {"target", "scope", "role", "rank", "gpu"},
     floor},
    {"memscope_floor_slope_bytes_per_second",
     kGauge,
     "How fast the floor rises.",
     {"target", "scope", "role", "rank", "gpu"},
     slope},
    {"memscope_verdict",
     kGauge,
     "1 for the word that stands (insufficient, warming_up, stable, spiky, leaking), 0 for the others.",
     {"target", "scope", "role", "rank", "gpu", "verdict"},
     verdicts},
    {"memscope_oom_eta_seconds",
     kGauge,
     "Time until the effective limit is reached, or a GPU is full, if all goes on as it does; absent when nothing "
     "grows towards it.",
     {"target", "scope", "role", "rank", "gpu", "basis"},
     eta},
};

}  // namespace

std::span<const Metric> verdict_metrics() { return kVerdictMetrics; }

}  // namespace memscope
