#include <algorithm>
#include <fmt/format.h>

#include "analysis/heap/holder_sentence.h"
#include "base/text.h"
#include "outputs/heap/heap_text.h"
#include "outputs/heap/objects_text.h"
#include "outputs/text/text_layout.h"
#include "view/panels.h"

namespace memscope::view {
namespace {

void add_process(const ProcessHeap& heap, double now, std::size_t width, std::vector<Line>& lines) {
    const HeldObjects& held = *heap.held;
    const std::size_t room = width > 2 ? width - 2 : 1;
    ProcessHeap titled = heap;  // the age in the title is that of the census of objects
    titled.census.time = held.time;
    lines.push_back(Line{}.add(" HOLDERS", Style::bold).add("  " + heap_title(titled, now), Style::dim));
    const auto add_text = [&](const std::string& text, Style style) {
        for (const std::string& row : wrapped_lines(text, room)) lines.push_back(Line{}.add(" " + row, style));
    };
    if (held.refusal != ObjectsRefusal::none)
        return add_text(fmt::format("the Python objects were not read: {}", name_of(held.refusal)), Style::warn);
    const std::string sentence = holder_sentence(held), on_gpu = holder_sentence(held, HolderMemory::device);
    for (const std::string& each : {sentence, on_gpu})
        if (!each.empty()) add_text(each, Style::bold);
    if (!held.over) add_text("no change is known yet, because only one census was taken", Style::dim);
    const bool changes = held.over.has_value();
    const bool device =
        std::ranges::any_of(held.holders, [](const HolderChange& each) { return each.holder.retained_device.n > 0; });
    const auto add_rows = [&](const std::string& rows, Style style) {
        for_each_line(rows, [&](std::string_view row) { lines.push_back(Line{}.add(" " + std::string(row), style)); });
    };
    add_rows(holder_head(changes, device, room), Style::dim);
    for (const HolderChange& each : held.holders) {
        std::optional<std::int64_t> bytes;
        if (each.retained_change) bytes = *each.retained_change + each.device_change.value_or(0);
        add_rows(holder_rows(each.holder, each.length_change, bytes, changes, device, room), Style::plain);
    }
}

}  // namespace

std::vector<Line> holders_panel(const TargetSnapshot& target, double now, std::size_t width) {
    std::vector<Line> lines;
    for (const ProcessHeap& heap : target.heap)
        if (heap.held) add_process(heap, now, width, lines);
    if (lines.empty()) {
        lines.push_back(Line{}.add(" HOLDERS", Style::bold).add("  containers of Python that hold memory", Style::dim));
        for (const char* row :
             {"   no census of Python objects yet: one is taken after 10 s if nothing else is watched,",
              "   after the warm-up, and when a leak is found"})
            lines.push_back(Line{}.add(row, Style::dim));
    }
    return lines;
}

}  // namespace memscope::view
