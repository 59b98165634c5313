#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace memscope {

// What announces an OOM kill. CONTRACT: Precursors.
enum class PrecursorKind { eta, near_limit, pressure, reclaim, refault, high_throttled, shm_full, host_low };
constexpr PrecursorKind kPrecursorKinds[] = {
    PrecursorKind::eta,     PrecursorKind::near_limit,     PrecursorKind::pressure, PrecursorKind::reclaim,
    PrecursorKind::refault, PrecursorKind::high_throttled, PrecursorKind::shm_full, PrecursorKind::host_low};
std::string_view name_of(PrecursorKind kind);

// One that stands.
struct Precursor {
    PrecursorKind kind{};
    double since = 0;      // seconds, on the clock of who asked; seconds since 1970 in a snapshot
    std::string reason{};  // a sentence with numbers, as of the last time there was one
    bool of_host = false;  // the reason was the memory of the host, which all its jobs share
};

}  // namespace memscope
