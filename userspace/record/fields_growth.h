#pragma once
#include "model/growth/growth.h"
#include "record/fields_process.h"

namespace memscope::record {

template <>
struct Fields<PythonFrame> {
    using T = PythonFrame;
    static constexpr auto kList = fields(field<1>(&T::function), field<2>(&T::file), field<3>(&T::line));
};

template <>
struct Fields<NativeFrame> {
    using T = NativeFrame;
    static constexpr auto kList = fields(field<1>(&T::symbol), field<2>(&T::module), field<3>(&T::offset));
};

template <>
struct Fields<GrowthSite> {
    using T = GrowthSite;
    static constexpr auto kList =
        fields(field<1>(&T::bytes), field<3>(&T::role), field<4>(&T::pids), field<5>(&T::python), field<6>(&T::native));
};

template <>
struct Fields<UnattributedGrowth> {
    using T = UnattributedGrowth;
    static constexpr auto kList = fields(field<1>(&T::reason), field<2>(&T::bytes));
};

template <>
struct Fields<GrowthPlane> {
    using T = GrowthPlane;
    static constexpr auto kList = fields(field<1>(&T::sites), field<2>(&T::unattributed));
};

template <>
struct Fields<HostTensorRecording> {
    using T = HostTensorRecording;
    static constexpr auto kList = fields(field<1>(&T::since_seconds), field<2>(&T::paused_at_rate));
};

template <>
struct Fields<GrowthSpan> {
    using T = GrowthSpan;
    static constexpr auto kList = fields(field<1>(&T::since), field<2>(&T::after_warmup), field<3>(&T::peak));
};

template <>
struct Fields<GrowthOwner> {
    using T = GrowthOwner;
    static constexpr auto kList =
        fields(field<1>(&T::plane), field<2>(&T::role), field<3>(&T::place), field<4>(&T::bytes), field<5>(&T::share));
};

template <>
struct Fields<Growth> {
    using T = Growth;
    static constexpr auto kList =
        fields(field<1>(&T::resident), field<2>(&T::mapped), field<7>(&T::tensors_host), field<3>(&T::gpu),
               field<4>(&T::pinned), field<8>(&T::resident_method), field<13>(&T::pages_checked),
               field<5>(&T::file_mapped_bytes), field<6>(&T::reserved_bytes), field<12>(&T::host_tensors),
               field<9>(&T::span), field<10>(&T::owner), field<11>(&T::sentence));
};

template <>
struct Fields<LineGrowth> {
    using T = LineGrowth;
    static constexpr auto kList =
        fields(field<1>(&T::role), field<2>(&T::place), field<3>(&T::bytes), field<4>(&T::kept));
};

}  // namespace memscope::record
