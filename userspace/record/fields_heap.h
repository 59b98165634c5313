#pragma once
#include <memory>

#include "model/heap/heap.h"
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
struct Fields<TensorTotal> {
    using T = TensorTotal;
    static constexpr auto kList =
        fields(field<1>(&T::device), field<2>(&T::tensors), field<3>(&T::storages), field<4>(&T::bytes));
};

template <>
struct Fields<Holder> {
    using T = Holder;
    static constexpr auto kList =
        fields(field<1>(&T::path), field<2>(&T::root), field<10>(&T::kind), field<11>(&T::address), field<3>(&T::type),
               field<4>(&T::element), field<5>(&T::length), field<6>(&T::retained), field<7>(&T::retained_device),
               field<8>(&T::other_holders), field<9>(&T::within), field<12>(&T::item_storage), field<13>(&T::reading));
};

template <>
struct Fields<NativeGroup> {
    using T = NativeGroup;
    static constexpr auto kList =
        fields(field<1>(&T::type), field<2>(&T::size), field<3>(&T::blocks), field<4>(&T::bytes));
};

template <>
struct Fields<NativeUnreached> {
    using T = NativeUnreached;
    static constexpr auto kList = fields(field<1>(&T::bytes), field<2>(&T::blocks), field<3>(&T::groups));
};

template <>
struct Fields<UnexplainedReferences> {
    using T = UnexplainedReferences;
    static constexpr auto kList =
        fields(field<1>(&T::type), field<2>(&T::objects), field<3>(&T::references), field<4>(&T::bytes));
};

template <>
struct Fields<HeapOwners> {
    using T = HeapOwners;
    static constexpr auto kList =
        fields(field<1>(&T::live), field<2>(&T::attributed), field<3>(&T::probable), field<4>(&T::read));
};

template <>
struct Fields<HolderChange> {
    using T = HolderChange;
    static constexpr auto kList = fields(
        field<1>(&T::holder), field<2>(&T::length_change), field<3>(&T::retained_change), field<4>(&T::device_change),
        field<5>(&T::own_host), field<6>(&T::own_device), field<7>(&T::items_per_second), field<8>(&T::first_seen));
};

template <>
struct Fields<OtherGrowth> {
    using T = OtherGrowth;
    static constexpr auto kList = fields(field<1>(&T::what), field<2>(&T::bytes));
};

template <>
struct Fields<ObjectsOfType> {
    using T = ObjectsOfType;
    static constexpr auto kList = fields(field<1>(&T::type), field<2>(&T::count), field<3>(&T::bytes));
};

template <>
struct Fields<Garbage> {
    using T = Garbage;
    static constexpr auto kList = fields(field<1>(&T::bytes), field<2>(&T::device_bytes), field<3>(&T::objects),
                                         field<4>(&T::types), field<5>(&T::through_native));
};

template <>
struct Fields<UnexplainedChange> {
    using T = UnexplainedChange;
    static constexpr auto kList = fields(field<1>(&T::now), field<2>(&T::objects_change), field<3>(&T::bytes_change));
};

template <>
struct Fields<GrownKind> {
    using T = GrownKind;
    static constexpr auto kList =
        fields(field<1>(&T::element), field<2>(&T::count), field<3>(&T::bytes), field<4>(&T::count_change),
               field<5>(&T::bytes_change), field<6>(&T::on_device), field<7>(&T::only_native), field<8>(&T::held_by));
};

template <>
struct Fields<HeapCauses> {
    using T = HeapCauses;
    static constexpr auto kList =
        fields(field<1>(&T::owners), field<2>(&T::garbage), field<3>(&T::garbage_change),
               field<4>(&T::garbage_device_change), field<5>(&T::native_unreached), field<6>(&T::native_change),
               field<7>(&T::unexplained), field<8>(&T::threads), field<9>(&T::threads_change), field<10>(&T::grown));
};

template <>
struct Fields<HeldObjects> {
    using T = HeldObjects;
    static constexpr auto kList =
        fields(field<1>(&T::time), field<2>(&T::over), field<3>(&T::refusal), field<4>(&T::objects),
               field<5>(&T::bytes), field<15>(&T::size), field<6>(&T::grown), field<7>(&T::device_grown),
               field<8>(&T::explained), field<9>(&T::device_explained), field<10>(&T::holders), field<14>(&T::most),
               field<11>(&T::tensors), field<12>(&T::others), field<16>(&T::causes), field<13>(&T::alike));
};

// Whole censuses of objects have megabytes, so ticks have only their summary, HeldObjects. Recordings have each whole
// census once, as a WholeCensus.
struct NotRecorded {};
template <>
struct Fields<NotRecorded> {
    static constexpr auto kList = fields();
};
template <>
struct Converted<std::shared_ptr<const ObjectCensus>> {
    static NotRecorded to(const std::shared_ptr<const ObjectCensus>& /*objects*/) { return {}; }
    static std::shared_ptr<const ObjectCensus> from(const NotRecorded& /*nothing*/) { return {}; }
};
template <>
struct Converted<std::shared_ptr<const HeapCensus>> {
    static NotRecorded to(const std::shared_ptr<const HeapCensus>& /*census*/) { return {}; }
    static std::shared_ptr<const HeapCensus> from(const NotRecorded& /*nothing*/) { return {}; }
};
template <>
struct Converted<std::shared_ptr<const std::vector<ContainerPlace>>> {
    static NotRecorded to(const std::shared_ptr<const std::vector<ContainerPlace>>& /*places*/) { return {}; }
    static std::shared_ptr<const std::vector<ContainerPlace>> from(const NotRecorded& /*nothing*/) { return {}; }
};
template <>
struct Converted<std::shared_ptr<const std::vector<GrowingHolder>>> {
    static NotRecorded to(const std::shared_ptr<const std::vector<GrowingHolder>>& /*growing*/) { return {}; }
    static std::shared_ptr<const std::vector<GrowingHolder>> from(const NotRecorded& /*nothing*/) { return {}; }
};

template <>
struct Fields<HeapCensus> {
    using T = HeapCensus;
    static constexpr auto kList =
        fields(field<1>(&T::process), field<2>(&T::time), field<3>(&T::taken), field<4>(&T::anon), field<5>(&T::swap),
               field<6>(&T::python), field<7>(&T::parts), field<8>(&T::allocator), field<9>(&T::mappings),
               field<10>(&T::incomplete), field<11>(&T::objects), field<12>(&T::places));
};

template <>
struct Fields<ProcessHeap> {
    using T = ProcessHeap;
    static constexpr auto kList = fields(field<1>(&T::role), field<2>(&T::census), field<3>(&T::earlier),
                                         field<4>(&T::held), field<5>(&T::with_objects), field<6>(&T::growing));
};

template <>
struct Fields<TensorGroup> {
    using T = TensorGroup;
    static constexpr auto kList = fields(field<1>(&T::device), field<2>(&T::dtype), field<3>(&T::shape),
                                         field<4>(&T::only_native), field<5>(&T::count), field<6>(&T::bytes));
};

template <>
struct Fields<ArrayGroup> {
    using T = ArrayGroup;
    static constexpr auto kList =
        fields(field<1>(&T::dtype), field<2>(&T::shape), field<3>(&T::count), field<4>(&T::bytes));
};

template <>
struct Fields<ObjectCensus> {
    using T = ObjectCensus;
    static constexpr auto kList = fields(
        field<1>(&T::refusal), field<2>(&T::objects), field<3>(&T::bytes), field<4>(&T::types), field<5>(&T::tensors),
        field<6>(&T::tensor_totals), field<7>(&T::arrays), field<8>(&T::holders), field<9>(&T::tensors_refused),
        field<10>(&T::references_explained), field<11>(&T::sampled), field<12>(&T::inherited), field<13>(&T::owners),
        field<14>(&T::native_unreached), field<15>(&T::garbage), field<16>(&T::unexplained));
};

template <>
struct Fields<WholeCensus> {
    using T = WholeCensus;
    static constexpr auto kList = fields(field<1>(&T::role), field<2>(&T::census), field<3>(&T::objects));
};

}  // namespace memscope::record
