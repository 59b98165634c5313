#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "model/deaths/action.h"
#include "model/snapshot.h"

namespace memscope {

// What a command learns of the event that it is run for. Values are one line each and printable, whatever a process
// calls itself; nothing of them is ever part of a command line.
struct ActionFacts {
    std::vector<std::string> environment{};  // "MEMSCOPE_PID=4711"
    std::string json{};                      // one object, less than kMostFactsBytes
};
inline constexpr std::size_t kMostFactsBytes = std::size_t{96} << 10U;  // paths of cgroups can be long
inline constexpr std::size_t kMostFactValueBytes = 1024;
inline constexpr std::size_t kMostTrainersTold = 64;

ActionFacts precursor_facts(const Snapshot& snapshot, const TargetSnapshot& target, const Precursor& precursor);

// Processes of one target that died as one event, the decisive one first, and where that is written down.
struct ReportedDeath {
    TargetInfo target{};
    std::vector<Death> deaths{};
    std::uint64_t left_out = 0;  // of them
    std::string file{};          // empty: nowhere
};
ActionFacts death_facts(const ReportedDeath& report);

// "MEMSCOPE_TRAINER_PIDS=12 13"
std::string trainers_fact(const std::vector<ProcessId>& trainers);

}  // namespace memscope
