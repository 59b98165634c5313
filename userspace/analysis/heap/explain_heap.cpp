#include "analysis/heap/explain_heap.h"

#include <fmt/format.h>

#include "analysis/heap/free_memory_text.h"
#include "base/units.h"

namespace memscope {
namespace {

// Parts that are smaller than this share are not worth a sentence.
constexpr double kShare = 0.1;
constexpr Bytes kLeastPart{std::uint64_t{4} << 20};

bool is_large(Bytes part, Bytes all) {
    return part >= kLeastPart && static_cast<double>(part.n) >= kShare * static_cast<double>(all.n);
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
    if (!is_large(trimmable, census.anon))
        return fmt::format(
            "{} are free inside glibc, but in pieces between live blocks: malloc_trim(0) would give back only {}. "
            "malloc uses them again before the process grows.",
            of(free, census.anon), human_size(trimmable));
    const bool in_pieces = trimmable.n < free.n / 2;
    return fmt::format("{} are free inside glibc ({} arena{}): not a leak. malloc_trim(0) would give back {} now{}. {}",
                       of(free, census.anon), arenas, arenas == 1 ? "" : "s", human_size(trimmable),
                       in_pieces ? "; the rest is in pieces between live blocks" : "",
                       arenas >= kManyArenas ? "MALLOC_ARENA_MAX=2 or jemalloc usually prevents this."
                                             : "jemalloc usually prevents this.");
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

}  // namespace

bool is_other_allocator(AllocatorName name) { return name != AllocatorName::glibc && name != AllocatorName::unknown; }

std::string explain_heap(const HeapCensus& census) {
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

}  // namespace memscope
