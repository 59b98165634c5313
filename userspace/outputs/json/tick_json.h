#pragma once
#include <optional>
#include <string>

#include "analysis/verdict/verdict.h"
#include "model/sharing.h"
#include "model/snapshot.h"
#include "outputs/json/json_writer.h"

namespace memscope {

// Writes the member `sharing` of a tick.
void write_sharing(JsonWriter& json, const Sharing& sharing);

// Writes the member `gpu` of a tick: the devices of the machine, and the memory that the target holds on them by role
// and by process. Null if there is no device and no such memory.
void write_gpu(JsonWriter& json, const Snapshot& snapshot, const TargetSnapshot& target);

// Writes the fields of a verdict into an object that is already open.
void write_verdict(JsonWriter& json, const Judgement& judgement, const std::optional<Forecast>& forecast,
                   const std::string& explanation);

// A single verdict as one object. `began`: the time of the first sample of the series.
std::string verdict_json(const Judgement& judgement, Seconds began, const std::optional<Bytes>& limit);

// One target at one tick, as one line of JSON without a newline at its end. Always valid UTF-8, although processes
// choose their own names. An absent value is null or left out, never 0 or -1.
std::string tick_json(const Snapshot& snapshot, const TargetSnapshot& target);

// {"targets":["train",...]}
std::string targets_json(const Snapshot& snapshot);

}  // namespace memscope
