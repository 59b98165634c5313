#include <algorithm>

#include "outputs/metrics/metric_table.h"

namespace memscope {
namespace {

// Calls read(labels, census) for the largest process of each role that has a census.
template <class Read>
void each_heap(const Snapshot& snapshot, Read read) {
    const auto targets = target_labels(snapshot);
    for (std::size_t i = 0; i < targets.size(); ++i) {
        const auto& heap = snapshot.targets[i].heap;
        for (const ProcessHeap& each : heap)
            if (largest_heap(heap, each.role) == &each)
                read({targets[i], std::string(name_of(each.role.role)),
                      each.role.rank ? std::to_string(*each.role.rank) : ""},
                     each.census);
    }
}

using Labels = std::vector<std::string>;

void parts(const Snapshot& snapshot, Samples& out) {
    each_heap(snapshot, [&](const Labels& labels, const HeapCensus& census) {
        for (std::size_t i = 0; i < kHeapParts; ++i) {
            Labels of_part = labels;
            of_part.emplace_back(name_of(static_cast<HeapPart>(i)));
            out.add(std::move(of_part), number(census.parts[i].n));
        }
    });
}

void age(const Snapshot& snapshot, Samples& out) {
    each_heap(snapshot, [&](Labels labels, const HeapCensus& census) {
        out.add(std::move(labels), std::max(0.0, snapshot.time - census.time));
    });
}

void trimmable(const Snapshot& snapshot, Samples& out) {
    each_heap(snapshot, [&](Labels labels, const HeapCensus& census) {
        if (census.allocator.trimmable) out.add(std::move(labels), number(census.allocator.trimmable->n));
    });
}

constexpr Metric kHeapMetrics[] = {
    {"memscope_heap_bytes",
     MetricKind::gauge,
     "Resident anonymous memory of the role's largest process by what holds it, at its last heap census. The parts add "
     "up to that memory. Absent before the first census.",
     {"target", "role", "rank", "part"},
     parts},
    {"memscope_heap_age_seconds",
     MetricKind::gauge,
     "Age of the census in memscope_heap_bytes.",
     {"target", "role", "rank"},
     age},
    {"memscope_heap_trimmable_bytes",
     MetricKind::gauge,
     "Free memory inside glibc's malloc that malloc_trim(0) would have returned at the last heap census: whole pages. "
     "Absent for other allocators.",
     {"target", "role", "rank"},
     trimmable},
};

}  // namespace

std::span<const Metric> heap_metrics() { return kHeapMetrics; }

}  // namespace memscope
