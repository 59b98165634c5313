#pragma once
#include "model/heap.h"
#include "record/fields_process.h"

namespace memscope::record {

template <>
struct Fields<Allocator> {
    using T = Allocator;
    static constexpr auto kList =
        fields(field<1>(&T::name), field<2>(&T::version), field<3>(&T::arenas), field<4>(&T::trimmable));
};

template <>
struct Fields<HeapMapping> {
    using T = HeapMapping;
    static constexpr auto kList =
        fields(field<1>(&T::start), field<2>(&T::end), field<3>(&T::resident), field<4>(&T::mapped_at));
};

template <>
struct Fields<HeapCensus> {
    using T = HeapCensus;
    static constexpr auto kList =
        fields(field<1>(&T::process), field<2>(&T::time), field<3>(&T::taken), field<4>(&T::anon), field<5>(&T::swap),
               field<6>(&T::python), field<7>(&T::parts), field<8>(&T::allocator), field<9>(&T::mappings),
               field<10>(&T::incomplete));
};

template <>
struct Fields<ProcessHeap> {
    using T = ProcessHeap;
    static constexpr auto kList = fields(field<1>(&T::role), field<2>(&T::census), field<3>(&T::earlier));
};

}  // namespace memscope::record
