#pragma once
#include <span>
#include <string>
#include <string_view>

#include "analysis/limits/precursors.h"
#include "base/result.h"
#include "cli/arguments/options.h"

namespace memscope {

// One key of the table [precursors] of the config file.
struct PrecursorKey {
    std::string_view name;
    std::string_view example;  // the default, as it is written in the file
    Status (*set)(PrecursorSettings& settings, std::string_view value);
};
std::span<const PrecursorKey> precursor_keys();

// One setting of watching: an option on the command line and a key of the same name in the config file.
struct WatchSetting {
    enum class Kind { text, flag, list };
    std::string_view name;
    Kind kind;
    std::string_view example;                                      // an example value, for messages
    Status (*set)(WatchOptions& options, std::string_view value);  // flag: "true" or "false"; list: adds an entry
    void (*clear)(WatchOptions& options) = nullptr;                // list: removes all entries
};
std::span<const WatchSetting> watch_settings();

// Values that more than one command takes.
Result<Seconds> parse_warmup(std::string_view value);
Result<std::vector<Verdict>> verdicts_of(std::string_view list);  // words with commas between them

// Applies the settings of a TOML text. `file` is its name in errors.
Status apply_config(WatchOptions& options, std::string_view toml, const std::string& file);

}  // namespace memscope
