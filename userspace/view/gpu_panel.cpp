#include "view/gpu_panel.h"

#include <algorithm>
#include <fmt/format.h>

#include "outputs/gpu_text.h"
#include "outputs/text_layout.h"
#include "view/compact.h"

namespace memscope::view {
namespace {

Style alarm(double full) { return full >= 0.9 ? Style::bad : full >= 0.75 ? Style::warn : Style::good; }

double share(Bytes part, Bytes whole) { return static_cast<double>(part.n) / static_cast<double>(whole.n); }

Line gpu_line(const GpuLine& gpu, std::size_t width) {
    Line line;
    line.add(" " + left(gpu.name, 8), Style::dim);
    if (!gpu.trouble.empty()) return line.add(gpu.trouble, Style::bad);
    if (!gpu.used || !gpu.total || gpu.total->n == 0) return line.add(gpu_facts(gpu));
    const Bytes held = gpu.held.value_or(Bytes{});
    const Style style = alarm(gpu.full());
    add_bar(line, std::clamp<std::size_t>(width / 5, 6, 40),
            {{share(held, *gpu.total), "█", style}, {share(*gpu.used - held, *gpu.total), "▓", style}});
    line.add(fmt::format(" {:>3.0f} %", 100 * gpu.full()), style).add(" of " + compact_size(*gpu.total) + "  ");
    return line.add(gpu_facts(gpu), gpu.xid_errors > 0 ? Style::warn : Style::plain);
}

}  // namespace

std::vector<Line> gpu_panel(const Snapshot& snapshot, const TargetSnapshot& target, std::size_t width,
                            std::size_t rows) {
    auto gpus = gpu_lines(snapshot, target);
    if (gpus.empty() || rows == 0) return {};
    std::ranges::stable_partition(gpus, [](const GpuLine& gpu) { return gpu.held || !gpu.trouble.empty(); });
    const std::size_t whole = gpus.size() <= rows ? gpus.size() : rows - 1;
    std::vector<Line> lines;
    lines.reserve(rows);
    for (std::size_t i = 0; i < whole; ++i) lines.push_back(gpu_line(gpus[i], width));
    if (whole < gpus.size())
        lines.push_back(Line{}.add(fmt::format(" and {} more GPUs", gpus.size() - whole), Style::dim));
    return lines;
}

}  // namespace memscope::view
