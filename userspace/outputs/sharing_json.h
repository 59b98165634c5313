#pragma once
#include "model/sharing.h"
#include "outputs/json_writer.h"

namespace memscope {

// The member `sharing` of a tick.
void write_sharing(JsonWriter& json, const Sharing& sharing);

}  // namespace memscope
