#pragma once
#include <cstdint>
#include <span>
#include <string_view>

// The tables of a recording. Times: `at` is seconds since the recording began, on the boot clock, which never jumps;
// `time` is seconds since 1970.
namespace memscope::recording {

// In the header of the file, where file(1) and SQLite find it: "mscp".
inline constexpr std::int64_t kApplicationId = 0x6d736370;
// Raised when an older memscope would misread a recording. New fields of a Snapshot do not raise it.
inline constexpr std::int64_t kSchemaVersion = 1;

struct Table {
    std::string_view name;
    const char* sql;  // as SQLite keeps it, so that a reader can compare it
};
std::span<const Table> tables();

}  // namespace memscope::recording
