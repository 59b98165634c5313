#pragma once
#include <optional>
#include <string>

#include "model/deaths/death.h"
#include "outputs/json/json_writer.h"

namespace memscope {

// The text, or nullopt if it is empty: JSON shows null instead of an empty text.
inline std::optional<std::string> known(const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(text);
}

// Writes the fields of a death into an object that is already open. Fields that do not apply to its cause are left out.
void write_death(JsonWriter& json, const Death& death);

}  // namespace memscope
