#include "outputs/metrics/metric_table.h"

#include <algorithm>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>
#include <set>

#include "base/text.h"

namespace memscope {

void Samples::add(std::vector<std::string> labels, double value) {
    for (std::string& label : labels) label = valid_utf8(label);
    samples_.push_back({std::move(labels), value});
}

std::string_view name_of(MetricKind kind) { return kind == MetricKind::counter ? "counter" : "gauge"; }

std::vector<std::string_view> Metric::label_names() const {
    std::vector<std::string_view> names;
    std::ranges::copy_if(labels, std::back_inserter(names), [](std::string_view label) { return !label.empty(); });
    return names;
}

std::vector<Metric> metric_table() {
    std::vector<Metric> table;
    for (const auto group : {target_metrics(), role_metrics(), heap_metrics(), verdict_metrics(), gpu_metrics(),
                             gpu_call_metrics(), death_metrics(), self_metrics()})
        table.insert(table.end(), group.begin(), group.end());
    return table;
}

std::vector<std::string> target_labels(const Snapshot& snapshot) {
    std::vector<std::string> labels;
    std::set<std::string> taken;
    for (const TargetSnapshot& target : snapshot.targets) {
        const std::string name = valid_utf8(target.info.name);
        std::string label = name;
        for (int n = 2; !taken.insert(label).second; ++n) label = name + "#" + std::to_string(n);
        labels.push_back(std::move(label));
    }
    return labels;
}

void add_owner(Samples& out, const std::string& target, const std::string& owner) {
    const bool own = owner == "own";
    const bool host = owner == "host";
    out.add({target, "own"}, own ? 1 : 0);
    const bool numa = is_numa_owner(owner);
    out.add({target, "ancestor"}, !own && !host && !numa ? 1 : 0);  // not its path, which can be of any length
    out.add({target, "host"}, host ? 1 : 0);
    out.add({target, "numa"}, numa ? 1 : 0);
}

namespace {

prometheus::MetricFamily family_of(const Metric& metric, const Snapshot& snapshot) {
    Samples samples;
    metric.collect(snapshot, samples);
    const bool counter = metric.kind == MetricKind::counter;
    prometheus::MetricFamily family;
    family.name = metric.name;
    family.help = metric.help;
    family.type = counter ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge;
    const auto names = metric.label_names();
    for (const Samples::Sample& sample : samples.all()) {
        prometheus::ClientMetric line;
        for (std::size_t i = 0; i < names.size(); ++i)
            line.label.push_back({std::string(names[i]), sample.labels.at(i)});
        (counter ? line.counter.value : line.gauge.value) = sample.value;
        family.metric.push_back(std::move(line));
    }
    return family;
}

}  // namespace

std::string render_prometheus(const Snapshot& snapshot) {
    std::vector<prometheus::MetricFamily> families;
    for (const Metric& metric : metric_table()) {
        auto family = family_of(metric, snapshot);
        if (!family.metric.empty()) families.push_back(std::move(family));
    }
    // The serializer prints 16 significant digits, so byte counts are exact up to 2^53.
    return prometheus::TextSerializer().Serialize(families);
}

}  // namespace memscope
