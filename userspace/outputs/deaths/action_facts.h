#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "model/deaths/action.h"
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

// Processes of one target that died as one event, the decisive one first, and the file with their report.
struct ReportedDeath {
    TargetInfo target{};
    std::vector<Death> deaths{};
    std::uint64_t left_out = 0;  // deaths of the same event that are not in `deaths`
    std::string file{};          // path of the death report; empty: none was written
};
ActionFacts death_facts(const ReportedDeath& report, const std::string& recording = {});

// "MEMSCOPE_TRAINER_PIDS=12 13"
std::string trainers_fact(const std::vector<ProcessId>& trainers);

}  // namespace memscope
