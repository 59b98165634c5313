#include "model/heap/heap.h"

#include <algorithm>

namespace memscope {
namespace {

template <std::size_t N, class Enum>
std::string_view word(const std::array<std::string_view, N>& words, Enum value) {
    return words[static_cast<std::size_t>(value)];
}

constexpr std::array<std::string_view, kHeapParts> kParts = {"malloc_live", "malloc_free", "python_live", "python_free",
                                                             "mapped",      "stacks",      "other"};
constexpr std::array<std::string_view, 5> kAllocators = {"unknown", "glibc", "jemalloc", "tcmalloc", "mimalloc"};
constexpr std::array<std::string_view, 5> kGaps = {"torn", "not_present", "unknown_type", "too_many", "time_limit"};

}  // namespace

std::string_view name_of(HeapPart part) { return word(kParts, part); }
std::string_view name_of(AllocatorName name) { return word(kAllocators, name); }
std::string_view name_of(HeapGap gap) { return word(kGaps, gap); }

bool are_alike(const RoleKey& role, Bytes anon, const RoleKey& other_role, Bytes other_anon) {
    constexpr double kDifference = 0.2;
    const Bytes larger = std::max(anon, other_anon);
    const Bytes smaller = std::min(anon, other_anon);
    return role == other_role &&
           static_cast<double>((larger - smaller).n) <= kDifference * static_cast<double>(larger.n);
}

const ProcessHeap* largest_heap(const std::vector<ProcessHeap>& heap, const RoleKey& role) {
    const ProcessHeap* largest = nullptr;
    for (const ProcessHeap& each : heap)
        if (each.role == role && (!largest || each.census.anon > largest->census.anon)) largest = &each;
    return largest;
}

}  // namespace memscope
