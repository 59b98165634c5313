#pragma once
#include "model/growth/mappings.h"
#include "model/processes/process.h"
#include "model/snapshot.h"
#include "record/fields.h"

namespace memscope::record {

template <>
struct Fields<ProcessId> {
    using T = ProcessId;
    static constexpr auto kList = fields(field<1>(&T::pid), field<2>(&T::start_ns));
};

template <>
struct Fields<RoleKey> {
    using T = RoleKey;
    static constexpr auto kList = fields(field<1>(&T::role), field<2>(&T::rank));
};

template <>
struct Fields<Faults> {
    using T = Faults;
    static constexpr auto kList = fields(field<1>(&T::minor), field<2>(&T::major));
};

template <>
struct Fields<AddressSpace> {
    using T = AddressSpace;
    static constexpr auto kList = fields(field<1>(&T::anon), field<2>(&T::file), field<3>(&T::shmem),
                                         field<4>(&T::swap), field<5>(&T::virtual_size), field<6>(&T::page_tables));
};

template <>
struct Fields<TaskSample> {
    using T = TaskSample;
    static constexpr auto kList =
        fields(field<1>(&T::time_ns), field<2>(&T::id), field<3>(&T::parent), field<4>(&T::target), field<5>(&T::comm),
               field<6>(&T::memory), field<7>(&T::threads), field<8>(&T::faults), field<9>(&T::faults_partial),
               field<10>(&T::forked_without_exec), field<11>(&T::mount_namespace), field<12>(&T::cgroup));
};

template <>
struct Fields<Process> {
    using T = Process;
    static constexpr auto kList =
        fields(field<1>(&T::task), field<2>(&T::role), field<3>(&T::rank), field<4>(&T::folded_rank),
               field<5>(&T::slot), field<6>(&T::start_time), field<7>(&T::command), field<8>(&T::inherited),
               field<9>(&T::orphaned), field<10>(&T::own_known));
};

template <>
struct Fields<RoleTotals> {
    using T = RoleTotals;
    static constexpr auto kList =
        fields(field<1>(&T::anon), field<2>(&T::file), field<3>(&T::shmem), field<4>(&T::swap), field<5>(&T::processes),
               field<6>(&T::threads), field<7>(&T::inherited), field<8>(&T::own_known));
};

template <>
struct Fields<Mappings> {
    using T = Mappings;
    static constexpr auto kList = fields(field<1>(&T::mapped), field<2>(&T::unmapped), field<3>(&T::failures));
};

template <>
struct Fields<RoleCounters> {
    using T = RoleCounters;
    static constexpr auto kList =
        fields(field<1>(&T::starts), field<2>(&T::exits), field<3>(&T::faults), field<4>(&T::mappings));
};

}  // namespace memscope::record
