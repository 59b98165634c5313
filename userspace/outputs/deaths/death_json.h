#pragma once
#include "model/deaths/death.h"
#include "outputs/json/json_writer.h"

namespace memscope {

// Writes the fields of a death into an object that is already open. Fields that do not apply to its cause are left out.
void write_death(JsonWriter& json, const Death& death);

}  // namespace memscope
