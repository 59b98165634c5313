#pragma once
#include "model/deaths/action.h"
#include "model/deaths/death.h"
#include "record/fields_gpu.h"
#include "record/fields_process.h"

namespace memscope::record {

// The words live as long as the program, so that a string_view of a decoded value stays valid.
inline std::string_view find_failed_call(std::string_view text) {
    for (std::size_t i = 0; i < MS_FAILED_COUNT; ++i)
        if (failed_call(i) == text) return failed_call(i);
    return {};
}
inline std::string_view find_failure_reason(std::string_view text) {
    for (std::size_t i = 0; i < MS_REASON_COUNT; ++i)
        if (failure_reason(i) == text) return failure_reason(i);
    return {};
}

template <>
struct Fields<NamedProcess> {
    using T = NamedProcess;
    static constexpr auto kList = fields(field<1>(&T::pid), field<2>(&T::comm));
};

template <>
struct Fields<OomKill> {
    using T = OomKill;
    static constexpr auto kList =
        fields(field<1>(&T::constraint), field<2>(&T::limit_owner), field<3>(&T::limit), field<4>(&T::usage),
               field<5>(&T::victim_cgroup), field<6>(&T::trigger), field<7>(&T::whole_cgroup), field<8>(&T::marked));
};

template <>
struct Fields<FullFile> {
    using T = FullFile;
    static constexpr auto kList = fields(field<1>(&T::name), field<2>(&T::file_system), field<3>(&T::mount));
};

template <>
struct Fields<FailedAllocation> {
    using T = FailedAllocation;
    static constexpr auto kList =
        fields(word_field<1>(&T::call, find_failed_call), word_field<2>(&T::reason, find_failure_reason),
               field<3>(&T::size), field<4>(&T::before_exit), field<5>(&T::file), field<6>(&T::tensor));
};

template <>
struct Fields<GpuShortage::Holder> {
    using T = GpuShortage::Holder;
    static constexpr auto kList = fields(field<1>(&T::process), field<2>(&T::used));
};

template <>
struct Fields<GpuShortage> {
    using T = GpuShortage;
    static constexpr auto kList =
        fields(field<1>(&T::gpu), field<2>(&T::index), field<3>(&T::size), field<4>(&T::of_host),
               field<5>(&T::before_exit), field<6>(&T::free), field<7>(&T::total), field<8>(&T::read_after),
               field<9>(&T::reserved), field<10>(&T::holders));
};

template <>
struct Fields<Death> {
    using T = Death;
    static constexpr auto kList =
        fields(field<1>(&T::time), field<2>(&T::id), field<3>(&T::parent), field<4>(&T::comm), field<5>(&T::command),
               field<6>(&T::role), field<7>(&T::run), field<8>(&T::cause), field<9>(&T::signal),
               field<10>(&T::exit_status), field<11>(&T::sender), field<12>(&T::sent_by), field<13>(&T::sent_for),
               field<14>(&T::news), field<15>(&T::memory), field<16>(&T::rss_anon), field<17>(&T::oom),
               field<18>(&T::mapping), field<19>(&T::allocation), field<20>(&T::gpu), field<21>(&T::explanation));
};

template <>
struct Fields<DeathTally> {
    using T = DeathTally;
    static constexpr auto kList = fields(field<1>(&T::deaths), field<2>(&T::oom_kills), field<3>(&T::last));
};

// Counters by event and outcome, in the order of their enumerators.
template <>
struct Converted<ActionTally> {
    using Counts = std::array<std::array<std::uint64_t, std::size(kActionOutcomes)>, std::size(kActionEvents)>;
    static Counts to(const ActionTally& tally) {
        Counts counts{};
        for (const ActionEvent event : kActionEvents)
            for (const ActionOutcome outcome : kActionOutcomes)
                counts[static_cast<std::size_t>(event)][static_cast<std::size_t>(outcome)] = tally.of(event, outcome);
        return counts;
    }
    static ActionTally from(const Counts& counts) {
        ActionTally tally;
        for (const ActionEvent event : kActionEvents)
            for (const ActionOutcome outcome : kActionOutcomes)
                tally.add(event, outcome, counts[static_cast<std::size_t>(event)][static_cast<std::size_t>(outcome)]);
        return tally;
    }
};

}  // namespace memscope::record
