#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace memscope {

// Conditions that announce an OOM kill. docs/precursors.md describes them. Metrics and JSON export the names.
enum class PrecursorKind { eta, near_limit, pressure, reclaim, refault, high_throttled, shm_full, host_low };
constexpr PrecursorKind kPrecursorKinds[] = {
    PrecursorKind::eta,     PrecursorKind::near_limit,     PrecursorKind::pressure, PrecursorKind::reclaim,
    PrecursorKind::refault, PrecursorKind::high_throttled, PrecursorKind::shm_full, PrecursorKind::host_low};
std::string_view name_of(PrecursorKind kind);

// An active precursor.
struct Precursor {
    PrecursorKind kind{};
    double since = 0;      // seconds, on the clock of the caller; seconds since 1970 in a snapshot
    std::string reason{};  // a sentence with figures, as of the last tick at which the condition held
    bool of_host = false;  // the cause is the memory of the host, which all its jobs share
};

}  // namespace memscope
