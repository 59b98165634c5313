#include "outputs/heap/heap_text.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/heap/census_schedule.h"
#include "analysis/heap/heap_sentence.h"
#include "base/text.h"
#include "outputs/heap/objects_text.h"
#include "outputs/text/text_layout.h"

namespace memscope {
namespace {

constexpr std::size_t kName = 12;
constexpr std::size_t kSize = 10;
constexpr std::size_t kShare = 7;

std::string spaced(std::string_view word) {
    std::string text(word);
    std::ranges::replace(text, '_', ' ');
    return text;
}

std::string meaning_of(HeapPart part, const Allocator& allocator) {
    if (is_other_allocator(allocator.name)) {
        const std::string_view name = name_of(allocator.name);
        if (part == HeapPart::malloc_live || part == HeapPart::malloc_free)
            return fmt::format("of glibc only, but {} serves malloc: see mapped", name);
        if (part == HeapPart::mapped) return fmt::format("memory of {}, live and free, and other large mappings", name);
    }
    switch (part) {
        case HeapPart::malloc_live:
            return "blocks that the program has allocated with malloc";
        case HeapPart::malloc_free:
            return "freed, but still held by malloc";
        case HeapPart::python_live:
            return "small objects of Python";
        case HeapPart::python_free:
            return "freed, but still held by Python's allocator";
        case HeapPart::mapped:
            return "large mappings of no known allocator";
        case HeapPart::stacks:
            return "stacks of threads";
        case HeapPart::other:
            return "data of libraries, and the rest";
    }
    return "";
}

std::string share_text(Bytes part, Bytes all) {
    if (part.n == 0 || all.n == 0) return "";
    const double percent = 100 * static_cast<double>(part.n) / static_cast<double>(all.n);
    return percent < 1 ? "<1 %" : fmt::format("{:.0f} %", percent);
}

std::string change_text(Bytes before, Bytes now) {
    if (before == now) return "0";
    return now > before ? "+" + human_size(now - before) : "-" + human_size(before - now);
}

std::string gap_text(HeapGap gap) {
    switch (gap) {
        case HeapGap::torn:
            return "changed while they were read";
        case HeapGap::not_present:
            return "not in memory (swapped out or freed since)";
        case HeapGap::unknown_type:
            return "of an unknown type";
        case HeapGap::too_many:
            return "more than the limit";
        case HeapGap::time_limit:
            return "time limit reached: the rest was estimated or left out";
    }
    return "";
}

std::string allocator_line(const Allocator& allocator) {
    std::string line = fmt::format("allocator: {}", name_of(allocator.name));
    if (allocator.version) line += " " + printable(*allocator.version);
    if (allocator.arenas) line += fmt::format(", {} arena{}", *allocator.arenas, *allocator.arenas == 1 ? "" : "s");
    if (allocator.trimmable) line += fmt::format(", malloc_trim(0) would return {}", human_size(*allocator.trimmable));
    return line;
}

std::string parts_table(const ProcessHeap& process, std::size_t columns) {
    const HeapCensus& census = process.census;
    std::string text;
    const bool changes = process.earlier.has_value();
    text += left("PART", kName) + right("SIZE", kSize) + right("SHARE", kShare) +
            (changes ? right("CHANGE", kSize + 1) : "") + "\n";
    for (std::size_t i = 0; i < kHeapParts; ++i) {
        const auto part = static_cast<HeapPart>(i);
        std::string line = left(name_of(part), kName) + right(human_size(census.part(part)), kSize) +
                           right(share_text(census.part(part), census.anon), kShare);
        if (changes) line += right(change_text(process.earlier->part(part), census.part(part)), kSize + 1);
        text += shortened_to(line + "  " + meaning_of(part, census.allocator), columns) + "\n";
    }
    return text;
}

std::string process_text(const ProcessHeap& process, const HeapReport& report, std::size_t columns) {
    const HeapCensus& census = process.census;
    const std::size_t top = report.top;
    const std::string objects = objects_sentence(process);
    std::string text = objects.empty() ? "" : wrapped(objects, columns);
    text += wrapped(heap_sentence(census), columns);
    text += "\n" +
            shortened_to(
                fmt::format("pid {}, {}{}: {} of anonymous memory{}", census.process.pid, name_of(process.role.role),
                            process.role.rank ? fmt::format(" {}", *process.role.rank) : "", human_size(census.anon),
                            census.python ? ", Python " + printable(*census.python) : ""),
                columns) +
            "\n";
    const std::string tables = objects_text(process, top, report.type, columns);
    text += tables;
    // The parts of the heap are not divided by type, so they are left out.
    if (report.type && !tables.empty()) return text;
    text += (tables.empty() ? "" : "\n") + parts_table(process, columns);
    text += shortened_to(allocator_line(census.allocator), columns) + "\n";
    for (std::size_t i = 0; i < std::min(top, census.mappings.size()); ++i) {
        const HeapMapping& mapping = census.mappings[i];
        const std::string place = mapping.mapped_at.empty() ? "" : ", mapped at " + printable(mapping.mapped_at);
        text += shortened_to(fmt::format("mapping: {:x}-{:x}, {} resident{}", mapping.start, mapping.end,
                                         human_size(mapping.resident), place),
                             columns) +
                "\n";
    }
    for (const auto& [gap, times] : census.incomplete)
        text += shortened_to(fmt::format("incomplete: {} x {}", times, gap_text(gap)), columns) + "\n";
    return text;
}

}  // namespace

std::string heap_text(const HeapReport& report, std::size_t columns) {
    const std::size_t width = columns == 0 ? kUsualText : std::clamp(columns, kNarrowestText, kWidestText);
    std::string text;
    for (const ProcessHeap& process : report.processes)
        text += (text.empty() ? "" : "\n") + process_text(process, report, width);
    if (report.left_out > 0)
        text +=
            wrapped(fmt::format("not read: {} more large process{}. memscope reads the largest of each role and rank, "
                                "at most {} of a target; --pid reads any process.",
                                report.left_out, report.left_out == 1 ? "" : "es", kMostCensuses),
                    width);
    if (const auto since = since_seconds(report))
        text += fmt::format("changes: in the last {}\n", human_duration(Seconds{*since}));
    return text;
}

std::vector<HeapPartText> heap_parts(const HeapCensus& census) {
    std::vector<HeapPartText> parts;
    for (std::size_t i = 0; i < kHeapParts; ++i) {
        const auto part = static_cast<HeapPart>(i);
        if (census.part(part).n > 0) parts.push_back({spaced(name_of(part)), part, census.part(part)});
    }
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
