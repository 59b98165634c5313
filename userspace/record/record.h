#pragma once
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/deaths/death_report.h"
#include "model/growth/growth.h"
#include "model/snapshot.h"

namespace memscope {

// A value as bytes, complete: what is decoded equals it. fields.h has the rules for versions.
std::string encode_record(const Snapshot& snapshot);
std::string encode_record(const Growth& growth);
std::string encode_record(const DeathReport& report);

// A snapshot that has this one of its targets alone.
std::string encode_target(const Snapshot& snapshot, const TargetSnapshot& target);

// T is Snapshot, Growth or DeathReport. The bytes may be anything; time and memory are bounded by their number. Names
// in the result can hold any bytes, numbers can be NaN, and lists can be empty that the watcher never leaves empty.
template <class T>
Result<T> decode_record(std::string_view bytes);
template <>
Result<Snapshot> decode_record(std::string_view bytes);
template <>
Result<Growth> decode_record(std::string_view bytes);
template <>
Result<DeathReport> decode_record(std::string_view bytes);

// For a report that somebody else may have made up. Replaces numbers that cannot be added up and shown: NaN by 0, and
// larger ones than 1e18 by 1e18. An error if a list has more than `most` elements.
Status limit_untrusted(DeathReport& report, std::size_t most);

}  // namespace memscope
