#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "model/deaths/action.h"
#include "model/deaths/reported_death.h"
#include "model/snapshot.h"

namespace memscope {

// The facts that a command gets about the event that it is run for. Each value is one printable line, because processes
// choose their own names. The values are never part of a command line.
struct ActionFacts {
    std::vector<std::string> environment{};  // "MEMSCOPE_PID=4711"
    std::string json{};                      // one object, less than kMostFactsBytes
};
inline constexpr std::size_t kMostFactsBytes = std::size_t{96} << 10U;  // paths of cgroups can be long
inline constexpr std::size_t kMostFactValueBytes = 1024;
inline constexpr std::size_t kMostTrainersListed = 64;

// `recording`: path of the recording of the target, which is still being written; empty: there is none.
ActionFacts precursor_facts(const Snapshot& snapshot, const TargetSnapshot& target, const Precursor& precursor,
                            const std::string& recording = {});

ActionFacts death_facts(const ReportedDeath& report, const std::string& recording = {});

// "MEMSCOPE_TRAINER_PIDS=12 13"
std::string trainers_fact(const std::vector<ProcessId>& trainers);

}  // namespace memscope
