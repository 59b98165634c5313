#include "analysis/heap/free_memory_text.h"

#include <algorithm>
#include <fmt/format.h>

#include "analysis/heap/free_growth.h"

namespace memscope {
namespace {

constexpr double kMuch = 0.25;  // share of the memory that counts against a limit

double share(Bytes part, Bytes whole) {
    return whole.n == 0 ? 0 : static_cast<double>(part.n) / static_cast<double>(whole.n);
}

std::string malloc_text(const HeapCensus& census, std::optional<std::uint32_t> threads) {
    const Bytes free = census.part(HeapPart::malloc_free);
    const Allocator& allocator = census.allocator;
    const bool many = allocator.arenas && *allocator.arenas >= kManyArenas;
    std::string text = fmt::format("{} of {} are free inside malloc", human_size(free), human_size(census.anon));
    if (many)
        text += threads && *threads > 1
                    ? fmt::format(", where {} arenas keep what {} threads freed", *allocator.arenas, *threads)
                    : fmt::format(", where {} arenas keep freed blocks", *allocator.arenas);
    text += ". This is not a leak of your objects: ";
    const std::string less = many ? "MALLOC_ARENA_MAX=2 or jemalloc keeps less" : "jemalloc keeps less";
    if (!allocator.trimmable) return text + less;
    if (share(*allocator.trimmable, free) >= 0.5)
        return text + fmt::format("{}, and malloc_trim(0) after each validation would give back {}", less,
                                  human_size(*allocator.trimmable));
    return text + fmt::format(
                      "{}; malloc_trim(0) would give back only {}, because live blocks lie between the free "
                      "ones",
                      less, human_size(*allocator.trimmable));
}

std::string python_text(const HeapCensus& census) {
    return fmt::format(
        "{} of {} are free inside Python's allocator, which returns memory only when every object in an arena is "
        "freed. This is not a leak of your objects: keep large temporary data in arrays instead of many small objects, "
        "or build it in a child process; malloc_trim(0) does not return it",
        human_size(census.part(HeapPart::python_free)), human_size(census.anon));
}

}  // namespace

std::string free_memory_text(const HeapCensus& census, HeapPart part, std::optional<std::uint32_t> threads) {
    return part == HeapPart::python_free ? python_text(census) : malloc_text(census, threads);
}

std::string free_memory_text(const TargetSnapshot& target, HeapPart part, const std::optional<RoleKey>& role) {
    const HeapCensus* most = nullptr;
    for (const ProcessHeap& each : target.heap)
        if ((!role || each.role == *role) && (!most || each.census.part(part) > most->part(part))) most = &each.census;
    if (!most) return {};
    const auto process = std::ranges::find_if(
        target.processes, [&](const Process& each) { return each.task.id.pid == most->process.pid; });
    const bool known = process != target.processes.end();
    return free_memory_text(*most, part, known ? std::optional(process->task.threads) : std::nullopt);
}

std::string much_free_memory_text(const TargetSnapshot& target, Bytes held, double now) {
    const auto largest = std::ranges::max_element(
        target.heap, [](const ProcessHeap& a, const ProcessHeap& b) { return a.census.anon < b.census.anon; });
    if (largest == target.heap.end()) return {};
    const HeapCensus& census = largest->census;
    if (Seconds{now - census.time} > kFreshCensus || !is_complete_enough(census)) return {};
    const bool python = census.part(HeapPart::python_free) > census.part(HeapPart::malloc_free);
    const HeapPart part = python ? HeapPart::python_free : HeapPart::malloc_free;
    return share(census.part(part), held) >= kMuch ? free_memory_text(target, part) : std::string();
}

}  // namespace memscope
