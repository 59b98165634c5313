#include "analysis/heap/heap_sentence.h"

#include <algorithm>
#include <fmt/format.h>

#include "analysis/heap/free_growth.h"
#include "base/units.h"

namespace memscope {
namespace {

// Parts that are smaller than this share are not worth a sentence.
constexpr double kShare = 0.1;
constexpr Bytes kLeastPart{std::uint64_t{4} << 20};
constexpr double kMuch = 0.25;  // share of the memory that counts against a limit
constexpr double kMostIsFree = 0.5;
// This many arenas usually mean that several threads allocate, each with free memory of its own.
constexpr std::uint64_t kManyArenas = 4;

double share(Bytes part, Bytes whole) {
    return whole.n == 0 ? 0 : static_cast<double>(part.n) / static_cast<double>(whole.n);
}

bool is_large(Bytes part, Bytes all) {
    return part >= kLeastPart && static_cast<double>(part.n) >= kShare * static_cast<double>(all.n);
}

bool has_many_arenas(const Allocator& allocator) { return allocator.arenas && *allocator.arenas >= kManyArenas; }

// True if malloc_trim(0) would give back at least half of the memory that malloc keeps free.
bool is_mostly_trimmable(const HeapCensus& census) {
    constexpr double kHalf = 0.5;
    return census.allocator.trimmable &&
           share(*census.allocator.trimmable, census.part(HeapPart::malloc_free)) >= kHalf;
}

// What keeps less memory free than malloc does now.
std::string_view remedy(const Allocator& allocator) {
    return has_many_arenas(allocator) ? "MALLOC_ARENA_MAX=2 or jemalloc" : "jemalloc";
}

// "1.8 of 2.0 GiB", "132 KiB of 1.2 GiB".
std::string of(Bytes part, Bytes all) {
    const std::string one = human_size(part), other = human_size(all);
    const auto space = one.rfind(' '), other_space = other.rfind(' ');
    const bool same_unit = space != std::string::npos && other_space != std::string::npos &&
                           one.substr(space) == other.substr(other_space);
    return (same_unit ? one.substr(0, space) : one) + " of " + other;
}

std::string foreign_sentence(const HeapCensus& census) {
    const std::string_view name = name_of(census.allocator.name);
    return fmt::format(
        "malloc is served by {}: how much is free inside it cannot be read from outside. Up to {} are its memory.",
        name, of(census.part(HeapPart::mapped) + census.part(HeapPart::malloc_live), census.anon));
}

std::string malloc_free_sentence(const HeapCensus& census) {
    const Bytes free = census.part(HeapPart::malloc_free), trimmable = census.allocator.trimmable.value_or(Bytes{});
    const std::uint64_t arenas = census.allocator.arenas.value_or(1);
    if (!is_large(trimmable, census.anon) && !is_mostly_trimmable(census))
        return fmt::format(
            "{} are free inside glibc, but in pieces between live blocks: malloc_trim(0) would give back only {}. "
            "malloc uses them again before the process grows.",
            of(free, census.anon), human_size(trimmable));
    return fmt::format(
        "{} are free inside glibc ({} arena{}): not a leak. malloc_trim(0) would give back {} now{}. {} usually "
        "prevents this.",
        of(free, census.anon), arenas, arenas == 1 ? "" : "s", human_size(trimmable),
        is_mostly_trimmable(census) ? "" : "; the rest is in pieces between live blocks", remedy(census.allocator));
}

std::string python_free_sentence(const HeapCensus& census) {
    return fmt::format(
        "{} are free inside Python's allocator: not a leak, but live objects keep its arenas. malloc_trim(0) does not "
        "reach them; only Python uses them again. Do such work in a process that ends, or set PYTHONMALLOC=malloc.",
        of(census.part(HeapPart::python_free), census.anon));
}

std::string live_sentence(const HeapCensus& census) {
    const Bytes malloc = census.part(HeapPart::malloc_live), python = census.part(HeapPart::python_live);
    const Bytes live = malloc + python;
    if (python.n > malloc.n)
        return fmt::format("{} are live small Python objects: something holds them.", of(python, census.anon));
    std::string sentence = fmt::format("{} are live blocks: something holds them.", of(live, census.anon));
    const auto trimmable = census.allocator.trimmable;
    // If much memory is free, the sentence about free memory has the trimmable size.
    if (!trimmable || is_large(census.part(HeapPart::malloc_free), census.anon)) return sentence;
    return sentence + fmt::format(" malloc_trim(0) would give back only {}.", human_size(*trimmable));
}

std::string malloc_clause(const HeapCensus& census, std::optional<std::uint32_t> threads) {
    const Allocator& allocator = census.allocator;
    std::string text = fmt::format("{} of {} are free inside malloc", human_size(census.part(HeapPart::malloc_free)),
                                   human_size(census.anon));
    if (has_many_arenas(allocator))
        text += threads && *threads > 1
                    ? fmt::format(", where {} arenas keep what {} threads freed", *allocator.arenas, *threads)
                    : fmt::format(", where {} arenas keep freed blocks", *allocator.arenas);
    text += fmt::format(". This is not a leak of your objects: {} keeps less", remedy(allocator));
    if (!allocator.trimmable) return text;
    const std::string trimmable = human_size(*allocator.trimmable);
    if (is_mostly_trimmable(census))
        return text + fmt::format(", and malloc_trim(0) after each validation would give back {}", trimmable);
    return text + fmt::format("; malloc_trim(0) would give back only {}, because live blocks lie between the free ones",
                              trimmable);
}

std::string python_clause(const HeapCensus& census) {
    return fmt::format(
        "{} of {} are free inside Python's allocator, which returns memory only when every object in an arena is "
        "freed. This is not a leak of your objects: keep large temporary data in arrays instead of many small objects, "
        "or build it in a child process; malloc_trim(0) does not return it",
        human_size(census.part(HeapPart::python_free)), human_size(census.anon));
}

}  // namespace

bool is_other_allocator(AllocatorName name) { return name != AllocatorName::glibc && name != AllocatorName::unknown; }

std::string heap_sentence(const HeapCensus& census) {
    const Bytes all = census.anon;
    const Bytes malloc_free = census.part(HeapPart::malloc_free), python_free = census.part(HeapPart::python_free);
    const Bytes live = census.part(HeapPart::malloc_live) + census.part(HeapPart::python_live);
    std::string text;
    const auto add = [&](const std::string& sentence) { text += (text.empty() ? "" : " ") + sentence; };
    const bool foreign = is_other_allocator(census.allocator.name);
    if (foreign) add(foreign_sentence(census));
    const auto add_malloc_free = [&] {
        if (!foreign && is_large(malloc_free, all)) add(malloc_free_sentence(census));
    };
    const auto add_python_free = [&] {
        if (is_large(python_free, all)) add(python_free_sentence(census));
    };
    // The larger part first.
    malloc_free >= python_free ? (add_malloc_free(), add_python_free()) : (add_python_free(), add_malloc_free());
    if (!foreign && live.n > all.n / 2) add(live_sentence(census));
    const Bytes mapped = census.part(HeapPart::mapped);
    if (!foreign && is_large(mapped, all) && mapped.n > all.n / 4)
        add(fmt::format("{} are large mappings that belong to no known allocator.", of(mapped, all)));
    if (text.empty())
        add(fmt::format("{} of anonymous memory, of which {} are live blocks and {} are free inside allocators.",
                        human_size(all), human_size(live), human_size(malloc_free + python_free)));
    if (census.swap.n > 0) add(fmt::format("{} more are swapped out and not included here.", human_size(census.swap)));
    return text;
}

std::string free_memory_sentence(const HeapCensus& census, HeapPart part, std::optional<std::uint32_t> threads) {
    return part == HeapPart::python_free ? python_clause(census) : malloc_clause(census, threads);
}

std::string free_memory_sentence(const TargetSnapshot& target, HeapPart part, const std::optional<RoleKey>& role) {
    const HeapCensus* most = nullptr;
    for (const ProcessHeap& each : target.heap)
        if ((!role || each.role == *role) && (!most || each.census.part(part) > most->part(part))) most = &each.census;
    if (!most) return {};
    const auto process = std::ranges::find_if(
        target.processes, [&](const Process& each) { return each.task.id.pid == most->process.pid; });
    const bool known = process != target.processes.end();
    return free_memory_sentence(*most, part, known ? std::optional(process->task.threads) : std::nullopt);
}

std::string much_free_memory_sentence(const TargetSnapshot& target, Bytes held, double now) {
    const auto largest = std::ranges::max_element(
        target.heap, [](const ProcessHeap& a, const ProcessHeap& b) { return a.census.anon < b.census.anon; });
    if (largest == target.heap.end()) return {};
    const HeapCensus& census = largest->census;
    if (Seconds{now - census.time} > kFreshCensus || !is_complete_enough(census)) return {};
    const bool python = census.part(HeapPart::python_free) > census.part(HeapPart::malloc_free);
    const HeapPart part = python ? HeapPart::python_free : HeapPart::malloc_free;
    // The sentence says "not a leak of your objects", so it needs evidence: that is known to be the cause of the
    // growth, or live memory is the smaller part.
    const ScopeVerdict* whole = target.verdict();
    const bool is_cause = whole && whole->cause && is_free_memory(whole->cause->kind);
    const bool is_most = share(census.part(part), census.anon) >= kMostIsFree;
    return (is_cause || is_most) && share(census.part(part), held) >= kMuch ? free_memory_sentence(target, part)
                                                                            : std::string();
}

}  // namespace memscope
