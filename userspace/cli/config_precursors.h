#pragma once
#include <span>
#include <string>
#include <string_view>

#include "analysis/precursor_settings.h"
#include "base/result.h"

namespace memscope {

// One key of the table [precursors] of the config file.
struct PrecursorKey {
    std::string_view name;
    std::string_view example;  // what it is by default, as one would write it
    Status (*set)(PrecursorSettings& settings, std::string_view value);
};
std::span<const PrecursorKey> precursor_keys();

}  // namespace memscope
