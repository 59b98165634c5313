#pragma once
#include <optional>
#include <string>

#include "analysis/verdict/verdict.h"
#include "model/sharing.h"
#include "model/snapshot.h"
#include "outputs/json/json_writer.h"

namespace memscope {

// The member `sharing` of a tick.
void write_sharing(JsonWriter& json, const Sharing& sharing);

// The key `gpu` of a tick: the devices of the machine, and what the target holds of them by role and by process. Null
// where there is no device and nothing is held.
void write_gpu(JsonWriter& json, const Snapshot& snapshot, const TargetSnapshot& target);

// The fields of a verdict, into an object that is open.
void write_verdict(JsonWriter& json, const Judgement& judgement, const std::optional<Forecast>& forecast,
                   const std::string& explanation);

// A verdict by itself: one object. `began`: the time of the series' first sample.
std::string verdict_json(const Judgement& judgement, Seconds began, const std::optional<Bytes>& limit);

// One target at one tick, as one line of JSON without a newline at its end. Always valid UTF-8, whatever a
// process is called. Absent is null or left out, never 0 or -1.
std::string tick_json(const Snapshot& snapshot, const TargetSnapshot& target);

// {"targets":["train",...]}
std::string targets_json(const Snapshot& snapshot);

}  // namespace memscope
