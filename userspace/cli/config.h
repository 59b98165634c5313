#pragma once
#include <span>
#include <string>
#include <string_view>

#include "analysis/limits/precursors.h"
#include "base/result.h"
#include "cli/options.h"

namespace memscope {

// One key of the table [precursors] of the config file.
struct PrecursorKey {
    std::string_view name;
    std::string_view example;  // what it is by default, as one would write it
    Status (*set)(PrecursorSettings& settings, std::string_view value);
};
std::span<const PrecursorKey> precursor_keys();

// One setting of watching: an option on the command line and a key of the same name in the config file.
struct WatchSetting {
    enum class Kind { text, flag, list };
    std::string_view name;
    Kind kind;
    std::string_view example;                                      // a value of it, for messages
    Status (*set)(WatchOptions& options, std::string_view value);  // flag: "true" or "false"; list: adds one
    void (*clear)(WatchOptions& options) = nullptr;                // list: forgets all of them
};
std::span<const WatchSetting> watch_settings();

// Values that more than one command takes.
Result<Seconds> parse_warmup(std::string_view value);
Result<std::vector<Verdict>> verdicts_of(std::string_view list);  // words with commas between them

// Takes over what a TOML text says. `file` names it in errors.
Status apply_config(WatchOptions& options, std::string_view toml, const std::string& file);

}  // namespace memscope
