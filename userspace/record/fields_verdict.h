#pragma once
#include "model/judgement.h"
#include "model/precursor.h"
#include "model/snapshot.h"
#include "record/fields_memory.h"
#include "record/fields_process.h"

namespace memscope::record {

template <>
struct Fields<Spike> {
    using T = Spike;
    static constexpr auto kList = fields(field<1>(&T::height), field<2>(&T::period));
};

template <>
struct Fields<LeakSteps> {
    using T = LeakSteps;
    static constexpr auto kList =
        fields(field<1>(&T::count), field<2>(&T::height), field<3>(&T::period), field<4>(&T::last));
};

template <>
struct Fields<RestartLoop> {
    using T = RestartLoop;
    static constexpr auto kList =
        fields(field<1>(&T::restarts), field<2>(&T::all_leaked), field<3>(&T::all_settled), field<4>(&T::slope),
               field<5>(&T::length), field<6>(&T::top), field<7>(&T::decides));
};

template <>
struct Fields<Judgement> {
    using T = Judgement;
    static constexpr auto kList =
        fields(field<1>(&T::verdict), field<2>(&T::confidence), field<3>(&T::since), field<4>(&T::until),
               field<5>(&T::samples), field<6>(&T::floor), field<7>(&T::floor_slope), field<8>(&T::floor_slope_error),
               field<9>(&T::peak), field<10>(&T::room), field<11>(&T::spike), field<12>(&T::last_spike),
               field<13>(&T::warmup_ended), field<14>(&T::leak_started), field<15>(&T::restarted), field<16>(&T::steps),
               field<17>(&T::loop), field<18>(&T::rise), field<19>(&T::overhang), field<20>(&T::doubt),
               field<21>(&T::steady), field<22>(&T::warmup), field<23>(&T::only_fell));
};

template <>
struct Fields<Forecast> {
    using T = Forecast;
    static constexpr auto kList =
        fields(field<1>(&T::eta), field<2>(&T::earliest), field<3>(&T::latest), field<4>(&T::basis),
               field<5>(&T::limit), field<6>(&T::rate), field<7>(&T::own_share));
};

template <>
struct Fields<Precursor> {
    using T = Precursor;
    static constexpr auto kList =
        fields(field<1>(&T::kind), field<2>(&T::since), field<3>(&T::reason), field<4>(&T::of_host));
};

template <>
struct Fields<Grower> {
    using T = Grower;
    static constexpr auto kList =
        fields(field<1>(&T::pid), field<2>(&T::comm), field<3>(&T::role), field<4>(&T::grown), field<5>(&T::over),
               field<6>(&T::levels), field<7>(&T::top), field<8>(&T::share));
};

template <>
struct Fields<GrowingLines> {
    using T = GrowingLines;
    static constexpr auto kList = fields(field<1>(&T::repeated), field<2>(&T::most), field<3>(&T::share),
                                         field<4>(&T::times), field<5>(&T::keeps));
};

template <>
struct Fields<GrowthCause> {
    using T = GrowthCause;
    static constexpr auto kList = fields(field<1>(&T::kind), field<2>(&T::bytes), field<3>(&T::share));
};

template <>
struct Fields<Suspect> {
    using T = Suspect;
    static constexpr auto kList = fields(field<1>(&T::kind), field<2>(&T::name), field<3>(&T::bytes_per_second),
                                         field<4>(&T::share), field<5>(&T::since), field<6>(&T::text));
};

template <>
struct Fields<ScopeVerdict> {
    using T = ScopeVerdict;
    static constexpr auto kList =
        fields(field<1>(&T::scope), field<2>(&T::role), field<3>(&T::gpu), field<4>(&T::began), field<5>(&T::judgement),
               field<6>(&T::forecast), field<7>(&T::grower), field<8>(&T::lines), field<9>(&T::cause),
               field<11>(&T::holders), field<12>(&T::suspect), field<10>(&T::explanation));
};

}  // namespace memscope::record
