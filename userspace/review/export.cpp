#include "review/export.h"

#include <cstdio>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <optional>

#include "outputs/json/tick_json.h"
#include "outputs/metrics/metric_table.h"
#include "review/chunked_writer.h"

namespace memscope {
namespace {

struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using Spool = std::unique_ptr<std::FILE, Close>;

std::string escaped(std::string_view value) {
    std::string out;
    for (const char c : value) {
        if (c == '\\' || c == '"') out += '\\';
        if (c == '\n')
            out += "\\n";
        else
            out += c;
    }
    return out;
}

// {target="train",kind="anon"}
std::string labels_of(const Metric& metric, const Samples::Sample& sample) {
    const auto names = metric.label_names();
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i)
        text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", names[i], escaped(sample.labels.at(i)));
    return text.empty() ? text : "{" + text + "}";
}

// One line per sample: the number of the series, the value, the time. `names` has the number of each series by its
// labels.
struct MetricSpool {
    Spool file{};
    std::map<std::string, std::size_t> names{};
};

Status spool_tick(MetricSpool& spool, const Metric& metric, const Snapshot& snapshot, double time) {
    Samples samples;
    metric.collect(snapshot, samples);
    for (const Samples::Sample& sample : samples.all()) {
        if (!spool.file) spool.file.reset(std::tmpfile());
        if (!spool.file) return system_error(errno, "make a temporary file", "set TMPDIR to a directory with space");
        const std::size_t series = spool.names.try_emplace(labels_of(metric, sample), spool.names.size()).first->second;
        const std::string line = fmt::format("{} {:.17g} {:.3f}\n", series, sample.value, time);
        if (std::fwrite(line.data(), 1, line.size(), spool.file.get()) != line.size())
            return system_error(errno, "write a temporary file", "set TMPDIR to a directory with space");
    }
    return Done{};
}

// OpenMetrics requires all points of a series together, so the lines are sorted by series. One metric is in memory at a
// time.
Status write_metric(MetricSpool& spool, const Metric& metric, ChunkedWriter& out) {
    if (!spool.file) return Done{};
    std::string_view family = metric.name;
    const bool counter = metric.kind == MetricKind::counter;
    if (counter && family.ends_with("_total")) family.remove_suffix(6);
    out.add(fmt::format("# TYPE {} {}\n# HELP {} {}\n", family, counter ? "counter" : "gauge", family,
                        escaped(metric.help)));
    std::vector<std::string> series(spool.names.size());
    std::vector<std::string_view> labels(spool.names.size());
    for (const auto& [text, number] : spool.names) labels[number] = text;
    if (std::fflush(spool.file.get()) != 0 || std::fseek(spool.file.get(), 0, SEEK_SET) != 0)
        return system_error(errno, "write a temporary file");
    std::size_t number = 0;
    char value[64], time[64];
    while (std::fscanf(spool.file.get(), "%zu %63s %63s", &number, value, time) == 3)
        series.at(number) += fmt::format("{}{} {} {}\n", metric.name, labels[number], value, time);
    for (const std::string& lines : series) out.add(lines);
    spool.file.reset();
    return Done{};
}

}  // namespace

Status export_csv(Recording& recording, const RecordedTarget& target, const RecordedSpan& span,
                  const WriteText& write) {
    ChunkedWriter out(write);
    out.add("t_seconds,bytes\n");
    Seconds last{-1};
    auto read = recording.each_sample(target, span, [&](const RecordedSample& sample) {
        if (sample.processes == 0) return true;
        if (sample.at < last) return true;  // only in a damaged file: `memscope verdict` refuses such a series
        last = sample.at;
        return out.add(fmt::format("{:.3f},{}\n", sample.at.count(), sample.bytes.n));
    });
    if (!read) return read;
    return out.finish();
}

Status export_json(Recording& recording, const RecordedTarget& target, const RecordedSpan& span,
                   const WriteText& write) {
    ChunkedWriter out(write);
    auto read = recording.each_tick(target, span, [&](const RecordedSample&, const Snapshot& snapshot) {
        return out.add(tick_json(snapshot, snapshot.targets.front()) + "\n");
    });
    if (!read) return read;
    return out.finish();
}

Status export_openmetrics(Recording& recording, const RecordedTarget& target, const RecordedSpan& span,
                          const WriteText& write) {
    const std::vector<Metric> table = metric_table();
    std::vector<MetricSpool> spools(table.size());
    Status spooled = Done{};
    std::optional<RecordedSample> last;  // the last exported tick; `time` is the exported time stamp
    auto read = recording.each_tick(target, span, [&](const RecordedSample& sample, const Snapshot& snapshot) {
        if (last && sample.at <= last->at) return true;  // only in a damaged file
        RecordedSample stamped = sample;
        // Time stamps must rise. If the clock was set back, they continue on the boot clock until it has caught up.
        if (last && sample.time <= last->time) stamped.time = last->time + (sample.at - last->at).count();
        last = stamped;
        for (std::size_t i = 0; i < table.size() && spooled; ++i)
            spooled = spool_tick(spools[i], table[i], snapshot, stamped.time);
        return static_cast<bool>(spooled);
    });
    if (!read) return read;
    if (!spooled) return spooled;
    ChunkedWriter out(write);
    for (std::size_t i = 0; i < table.size(); ++i)
        if (auto written = write_metric(spools[i], table[i], out); !written) return written;
    out.add("# EOF\n");
    return out.finish();
}

}  // namespace memscope
