#include "metrics_page.h"

#include <fmt/format.h>

#include "outputs/metrics/metric_table.h"

namespace memscope {
namespace {

constexpr std::string_view kIntro = R"(# Metrics

The metrics that `/metrics` serves, in the text format of Prometheus. This page is generated from the metric table of
memscope; do not edit it by hand.

- Sizes are bytes, times are seconds, counters end in `_total`.
- All labels are bounded: no process ids, addresses or stacks. `rank` is empty if a role has no rank.
- Absent means unknown or not applicable, never 0. When a target, role or device is gone, its gauges are gone from the
  next scrape.
- Counters of a role continue across generations of its processes: a worker that is forked anew each epoch adds to
  the same series.
- `role` is one of `launcher`, `trainer`, `dataloader_worker`, `compile_worker`, `helper`, `other`.
)";

std::string section(std::string_view title, std::string_view text, std::span<const Metric> metrics) {
    std::string out =
        fmt::format("\n## {}\n\n{}\n\n| metric | type | labels | meaning |\n| --- | --- | --- | --- |\n", title, text);
    for (const Metric& metric : metrics) {
        std::string labels;
        for (const auto name : metric.label_names()) labels += fmt::format("{}`{}`", labels.empty() ? "" : ", ", name);
        out += fmt::format("| `{}` | {} | {} | {} |\n", metric.name, name_of(metric.kind), labels, metric.help);
    }
    return out;
}

}  // namespace

std::string render_metrics_page() {
    return std::string(kIntro) +
           section("Targets", "The memory of each target, its limits and its precursors.", target_metrics()) +
           section("Roles", "The memory and the processes of each role.", role_metrics()) +
           section("Heap",
                   "The parts of the heap of the largest process of each role ([verdicts](verdict.md#heap-censuses)).",
                   heap_metrics()) +
           section("Verdicts", "Whether memory leaks, and when it reaches the limit.", verdict_metrics()) +
           section("GPUs", "The memory of the devices of the machine, and the roles that hold it ([GPUs](gpu.md)).",
                   gpu_metrics()) +
           section("CUDA", "The memory that processes allocate by calls of the CUDA driver.", gpu_call_metrics()) +
           section("Deaths", "The processes that died, by cause ([deaths](deaths.md)).", death_metrics()) +
           section("The watcher", "The cost of memscope itself, and what it could not record.", self_metrics());
}

}  // namespace memscope
