#include "metrics_page.h"

#include <fmt/format.h>

#include "outputs/metrics/metric_table.h"

namespace memscope {
namespace {

constexpr std::string_view kIntro = R"(# Metrics

What `/metrics` serves, in the text format of Prometheus. This page is made from the table the program itself
renders from; do not edit it by hand.

- Sizes are bytes, times are seconds, counters end in `_total`.
- All labels are bounded: no process ids, addresses or stacks. `rank` is empty where there is none.
- Absent means unknown or not applicable, never 0. A series whose thing is gone is gone from the next scrape.
- Counters of a role live on across generations of its processes: a worker that is forked anew each epoch adds to
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
           section("Targets", "What a watched cgroup holds, and how near its end is.", target_metrics()) +
           section("Roles", "Who in the process tree holds it.", role_metrics()) +
           section("Verdicts", "Whether it grows for good, and when that ends at the limit.", verdict_metrics()) +
           section("GPUs", "What is on the devices of the machine, and who holds it ([GPUs](gpu.md)).", gpu_metrics()) +
           section("CUDA", "What processes take by calls of the CUDA driver.", gpu_call_metrics()) +
           section("Deaths", "Who died, and why ([deaths](deaths.md)).", death_metrics()) +
           section("The watcher", "What memscope itself costs, and what it could not see.", self_metrics());
}

}  // namespace memscope
