#include "outputs/prometheus.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include "outputs/metric_table.h"

namespace memscope {
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
    // It prints 16 significant digits: byte counts are exact up to 2^53.
    return prometheus::TextSerializer().Serialize(families);
}

}  // namespace memscope
