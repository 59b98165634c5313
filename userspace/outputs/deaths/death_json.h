#pragma once
#include "model/deaths/death.h"
#include "outputs/json/json_writer.h"

namespace memscope {

// The fields of a death, into an object that is open. What does not belong to its cause is left out.
void write_death(JsonWriter& json, const Death& death);

}  // namespace memscope
