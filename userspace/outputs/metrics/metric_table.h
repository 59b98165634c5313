#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/snapshot.h"

namespace memscope {

// Collects the values of a metric. Label values come from cgroup names, which can contain any bytes. They are made
// valid UTF-8 here, so that no row of the table can forget it.
class Samples {
  public:
    struct Sample {
        std::vector<std::string> labels{};  // values, in the order of the metric's label names
        double value = 0;
    };

    void add(std::vector<std::string> labels, double value);
    const std::vector<Sample>& all() const { return samples_; }

  private:
    std::vector<Sample> samples_{};
};

enum class MetricKind { gauge, counter };
std::string_view name_of(MetricKind kind);

inline constexpr auto kGauge = MetricKind::gauge;
inline constexpr auto kCounter = MetricKind::counter;

// Prometheus knows one type of number.
inline double number(Bytes bytes) { return static_cast<double>(bytes.n); }
inline double number(Seconds seconds) { return seconds.count(); }
inline double number(std::uint64_t count) { return static_cast<double>(count); }
inline double number(double value) { return value; }

constexpr std::size_t kMostLabels = 6;

// One row of the table. It holds both the name and the reader of the value, so they cannot diverge.
struct Metric {
    std::string_view name;
    MetricKind kind;
    std::string_view help;
    std::string_view labels[kMostLabels];  // names; unused ones are empty
    void (*collect)(const Snapshot&, Samples&);

    std::vector<std::string_view> label_names() const;
};

// All metrics, grouped for readers. This table drives /metrics, docs/metrics.md and the tests of both.
std::vector<Metric> metric_table();

// The groups of the table.
std::span<const Metric> target_metrics();
std::span<const Metric> role_metrics();
std::span<const Metric> heap_metrics();
std::span<const Metric> verdict_metrics();
std::span<const Metric> gpu_metrics();
std::span<const Metric> gpu_call_metrics();
std::span<const Metric> death_metrics();
std::span<const Metric> self_metrics();

// Adds the values of a metric with the labels target and owner: 1 for the owner of a limit, 0 for the others.
void add_owner(Samples& out, const std::string& target, const std::string& owner);

// The `target` label of each target, in the order of the snapshot. Names that differ only in bytes that are not
// UTF-8 would become the same series, and Prometheus refuses duplicates: the later ones get "#2", "#3".
std::vector<std::string> target_labels(const Snapshot& snapshot);

// The text format of Prometheus, version 0.0.4. A metric without values is left out, as are its HELP and TYPE.
std::string render_prometheus(const Snapshot& snapshot);

}  // namespace memscope
