#pragma once
#include "model/memory.h"
#include "model/reclaim.h"
#include "record/fields.h"

namespace memscope::record {

template <>
struct Fields<Unlimited> {
    static constexpr auto kList = fields();
};

template <>
struct Fields<MemoryByKind> {
    using T = MemoryByKind;
    static constexpr auto kList =
        fields(field<1>(&T::anon), field<2>(&T::shmem), field<3>(&T::file), field<4>(&T::kernel), field<5>(&T::other));
};

template <>
struct Fields<MemoryEvents> {
    using T = MemoryEvents;
    static constexpr auto kList = fields(field<1>(&T::low), field<2>(&T::high), field<3>(&T::max), field<4>(&T::oom),
                                         field<5>(&T::oom_kill), field<6>(&T::oom_group_kill));
};

template <>
struct Fields<Pressure> {
    using T = Pressure;
    static constexpr auto kList =
        fields(field<1>(&T::some), field<2>(&T::full), field<3>(&T::some_avg10), field<4>(&T::full_avg10));
};

template <>
struct Fields<LimitCandidate> {
    using T = LimitCandidate;
    static constexpr auto kList = fields(field<1>(&T::owner), field<2>(&T::limit), field<3>(&T::held));
};

template <>
struct Fields<EffectiveLimit> {
    using T = EffectiveLimit;
    static constexpr auto kList = fields(field<1>(&T::owner), field<2>(&T::limit), field<3>(&T::headroom));
};

template <>
struct Fields<MemoryState> {
    using T = MemoryState;
    static constexpr auto kList =
        fields(field<1>(&T::usage), field<2>(&T::by_kind), field<3>(&T::unreclaimable),
               field<4>(&T::kernel_partly_counted), field<5>(&T::swap), field<6>(&T::swap_cached), field<7>(&T::peak),
               field<8>(&T::peak_in_run), field<9>(&T::page_tables), field<10>(&T::limit), field<11>(&T::candidates),
               field<12>(&T::effective), field<13>(&T::events), field<14>(&T::pressure), field<15>(&T::refaulted),
               field<16>(&T::measured_at), field<17>(&T::others));
};

template <>
struct Fields<ShmUsage> {
    using T = ShmUsage;
    static constexpr auto kList = fields(field<1>(&T::used), field<2>(&T::size));
};

template <>
struct Fields<HostMemory> {
    using T = HostMemory;
    static constexpr auto kList =
        fields(field<1>(&T::total), field<2>(&T::available), field<3>(&T::hugetlb), field<4>(&T::swap_total),
               field<5>(&T::swap_free), field<6>(&T::swap_cached), field<7>(&T::pressure));
};

template <>
struct Fields<ReclaimStalls> {
    using T = ReclaimStalls;
    static constexpr auto kList = fields(field<1>(&T::memcg), field<2>(&T::direct), field<3>(&T::stalls));
};

}  // namespace memscope::record
