#pragma once
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/deaths/death_report.h"
#include "model/growth/growth.h"
#include "model/snapshot.h"

namespace memscope {

// Encodes a complete value: the decoded value is equal to it. fields.h has the rules for versions.
std::string encode_record(const Snapshot& snapshot);
std::string encode_record(const Growth& growth);
std::string encode_record(const DeathReport& report);
std::string encode_record(const WholeCensus& census);

// Encodes the snapshot with this target only.
std::string encode_target(const Snapshot& snapshot, const TargetSnapshot& target);

// T is Snapshot, Growth, DeathReport or WholeCensus. The bytes are not trusted. Their number bounds the time and the
// memory. Names in the result can contain any bytes, numbers can be NaN, and lists can be empty that a watcher never
// leaves empty.
template <class T>
Result<T> decode_record(std::string_view bytes);
template <>
Result<Snapshot> decode_record(std::string_view bytes);
template <>
Result<Growth> decode_record(std::string_view bytes);
template <>
Result<DeathReport> decode_record(std::string_view bytes);
template <>
Result<WholeCensus> decode_record(std::string_view bytes);

// Call this for a report that can be forged. It replaces numbers that cannot be summed and shown: NaN by 0, and numbers
// above 1e18 by 1e18. An error if a list has more than `most` elements.
Status limit_untrusted(DeathReport& report, std::size_t most);

}  // namespace memscope
