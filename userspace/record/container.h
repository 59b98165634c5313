#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

// The bytes around a record:
//   8 bytes    "\x8Emscope" and the kind
//   varint     version of the format
//   text       version of the memscope that wrote it: varint length, bytes
//   varint     length of the content
//   content    codec.h
//   4 bytes    CRC-32 of all bytes before, little endian
namespace memscope::record {

enum class Kind : char { snapshot = 'S', growth = 'G', death_report = 'D', heap_census = 'H' };

// Raised when an older memscope would misread a record. New fields alone do not raise it, because they are skipped.
inline constexpr std::uint64_t kFormatVersion = 1;

std::string sealed(Kind kind, std::string_view content, std::uint64_t version = kFormatVersion);

// The content as a view of `bytes`, or the reason why there is none.
Result<std::string_view> unsealed(Kind kind, std::string_view bytes);

}  // namespace memscope::record
