#pragma once
#include "model/gpu/gpu.h"
#include "record/fields_process.h"

namespace memscope::record {

template <>
struct Fields<GpuHolder> {
    using T = GpuHolder;
    static constexpr auto kList = fields(field<1>(&T::pid), field<2>(&T::used));
};

template <>
struct Fields<GpuDevice> {
    using T = GpuDevice;
    static constexpr auto kList =
        fields(field<1>(&T::id), field<2>(&T::index), field<3>(&T::name), field<4>(&T::pci_bus_id), field<5>(&T::used),
               field<6>(&T::free), field<7>(&T::reserved), field<8>(&T::total), field<9>(&T::utilization),
               field<10>(&T::xid_errors), field<11>(&T::holders), field<12>(&T::knows_holders), field<13>(&T::part_of),
               field<14>(&T::trouble));
};

template <>
struct Fields<GpuUse> {
    using T = GpuUse;
    static constexpr auto kList = fields(field<1>(&T::used), field<2>(&T::reserved), field<3>(&T::tensors));
};

template <>
struct Fields<PinnedUse> {
    using T = PinnedUse;
    static constexpr auto kList = fields(field<1>(&T::by_kind));
};

template <>
struct Fields<ProcessGpu> {
    using T = ProcessGpu;
    static constexpr auto kList = fields(field<1>(&T::devices), field<2>(&T::pinned));
};

template <>
struct Fields<TargetGpu> {
    using T = TargetGpu;
    static constexpr auto kList =
        fields(field<1>(&T::processes), field<2>(&T::roles), field<3>(&T::pinned), field<4>(&T::failures));
};

}  // namespace memscope::record
