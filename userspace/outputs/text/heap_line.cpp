#include "outputs/text/heap_line.h"

#include <algorithm>
#include <fmt/format.h>

namespace memscope {
namespace {

constexpr HeapPart kParts[] = {HeapPart::malloc_live, HeapPart::malloc_free, HeapPart::python_live,
                               HeapPart::python_free, HeapPart::mapped,      HeapPart::stacks,
                               HeapPart::other};
static_assert(std::size(kParts) == kHeapParts);

std::string spaced(std::string_view word) {
    std::string text(word);
    std::ranges::replace(text, '_', ' ');
    return text;
}

}  // namespace

std::vector<HeapPartText> heap_parts(const HeapCensus& census) {
    std::vector<HeapPartText> parts;
    for (const HeapPart part : kParts)
        if (census.part(part).n > 0) parts.push_back({spaced(name_of(part)), part, census.part(part)});
    return parts;
}

std::string heap_title(const ProcessHeap& heap, double now) {
    std::string role = spaced(name_of(heap.role.role));
    if (heap.role.rank) role += fmt::format(" of rank {}", *heap.role.rank);
    const Seconds age{std::max(1.0, now - heap.census.time)};
    return fmt::format("{}, pid {}, {} ago", role, heap.census.process.pid, human_duration(age));
}

std::string heap_line(const TargetSnapshot& target, double now) {
    if (target.heap.empty()) return {};
    const ProcessHeap& largest = target.heap.front();
    std::string text;
    for (const HeapPartText& part : heap_parts(largest.census))
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", part.name, human_size(part.size));
    return fmt::format("{} ({})", text, heap_title(largest, now));
}

}  // namespace memscope
