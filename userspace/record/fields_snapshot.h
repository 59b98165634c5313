#pragma once
#include "model/deaths/death_report.h"
#include "model/sharing.h"
#include "model/snapshot.h"
#include "record/fields_death.h"
#include "record/fields_gpu.h"
#include "record/fields_growth.h"
#include "record/fields_heap.h"
#include "record/fields_memory.h"
#include "record/fields_process.h"
#include "record/fields_verdict.h"

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

template <>
struct Fields<TargetInfo> {
    using T = TargetInfo;
    static constexpr auto kList =
        fields(field<1>(&T::name), field<2>(&T::kind), field<3>(&T::cgroup_version), field<4>(&T::pid));
};

template <>
struct Fields<TargetSnapshot> {
    using T = TargetSnapshot;
    static constexpr auto kList = fields(
        field<1>(&T::info), field<2>(&T::run), field<3>(&T::up), field<4>(&T::memory), field<5>(&T::processes),
        field<6>(&T::roles), field<7>(&T::counters), field<8>(&T::shm), field<9>(&T::sharing), field<10>(&T::gpu),
        field<11>(&T::reclaim), field<12>(&T::precursors), field<13>(&T::lines), field<14>(&T::verdicts),
        field<15>(&T::deaths), field<16>(&T::death_tally), field<17>(&T::last_death), field<18>(&T::heap));
};

template <>
struct Fields<Probe> {
    using T = Probe;
    static constexpr auto kList = fields(field<1>(&T::name), field<2>(&T::attached));
};

template <>
struct Fields<RecordingState> {
    using T = RecordingState;
    static constexpr auto kList = fields(field<1>(&T::up), field<2>(&T::bytes));
};

template <>
struct Fields<SelfSample> {
    using T = SelfSample;
    static constexpr auto kList =
        fields(field<1>(&T::cpu), field<2>(&T::resident), field<3>(&T::virtual_size), field<4>(&T::open_files),
               field<5>(&T::max_open_files), field<6>(&T::threads), field<7>(&T::start_time), field<8>(&T::bpf_maps),
               field<9>(&T::tick_duration), field<10>(&T::dropped), field<11>(&T::unwatched_targets),
               field<12>(&T::probes), field<13>(&T::actions), field<14>(&T::recording));
};

template <>
struct Fields<Snapshot> {
    using T = Snapshot;
    static constexpr auto kList = fields(field<1>(&T::time), field<2>(&T::host), field<3>(&T::gpus),
                                         field<4>(&T::targets), field<5>(&T::self), field<6>(&T::unread));
};

template <>
struct Fields<HeldPoint> {
    using T = HeldPoint;
    static constexpr auto kList = fields(field<1>(&T::time), field<2>(&T::held), field<3>(&T::usage));
};

template <>
struct Fields<PastEvent> {
    using T = PastEvent;
    static constexpr auto kList = fields(field<1>(&T::time), field<2>(&T::kind), field<3>(&T::text));
};

template <>
struct Fields<DeathReport> {
    using T = DeathReport;
    static constexpr auto kList =
        fields(field<1>(&T::deaths), field<2>(&T::deaths_left_out), field<3>(&T::unreported), field<4>(&T::then),
               field<5>(&T::processes_left_out), field<6>(&T::left_out_resident), field<7>(&T::growth),
               field<8>(&T::series), field<9>(&T::events), field<10>(&T::advice));
};

}  // namespace memscope::record
