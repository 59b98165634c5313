#pragma once
#include "model/sharing.h"
#include "record/fields_process.h"

namespace memscope::record {

template <>
struct Fields<Unshared> {
    using T = Unshared;
    static constexpr auto kList = fields(field<1>(&T::bytes), field<2>(&T::confirmed), field<3>(&T::processes));
};

template <>
struct Fields<Copiers> {
    using T = Copiers;
    static constexpr auto kList =
        fields(field<1>(&T::role), field<2>(&T::parent), field<3>(&T::processes), field<4>(&T::confirmed));
};

template <>
struct Fields<RolePss> {
    using T = RolePss;
    static constexpr auto kList = fields(field<1>(&T::bytes), field<2>(&T::age), field<3>(&T::processes));
};

template <>
struct Fields<Sharing> {
    using T = Sharing;
    static constexpr auto kList = fields(field<1>(&T::summed_anon), field<2>(&T::cgroup_anon), field<3>(&T::unshared),
                                         field<4>(&T::pss), field<5>(&T::copiers), field<6>(&T::explanation));
};

}  // namespace memscope::record
