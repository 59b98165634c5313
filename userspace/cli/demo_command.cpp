#include "cli/demo_command.h"

#include <cstdlib>
#include <fmt/format.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/arguments/options.h"
#include "cli/print.h"
#include "demo/demo.h"
#include "recording/store.h"

namespace memscope {
namespace {

// Length of the demo in seconds: the same scenario runs faster or slower. The option has priority over the variable.
constexpr const char* kLengthOption = "--scenario-seconds";
constexpr const char* kLengthVariable = "MEMSCOPE_DEMO_SECONDS";
constexpr std::uint64_t kShortestDemo = 4;
constexpr std::uint64_t kLongestDemo = 600;

Result<Seconds> wanted_length(const std::optional<std::string>& option) {
    const char* variable = std::getenv(kLengthVariable);
    if (!option && !variable) return kScenarioLength;
    const std::string given = option ? *option : variable;
    const auto seconds = parse_number(given);
    if (seconds && *seconds >= kShortestDemo && *seconds <= kLongestDemo) return Seconds{static_cast<double>(*seconds)};
    return plain_error(fmt::format("{}='{}' is not a number from {} to {}", option ? kLengthOption : kLengthVariable,
                                   shortened(given), kShortestDemo, kLongestDemo),
                       option ? "remove the option" : "remove the variable");
}

// Where the recording is written. Empty: there is no recording, because the user does not want one, or because it
// cannot be written.
std::string record_where() {
    const char* wanted = std::getenv(kRecordVariable);
    std::string where = wanted ? wanted : kRecordingDirectory;
    if (where == "none" || ::geteuid() != 0) return {};  // without root the demo ends with an error of its own
    if (const auto store = RecordingStore::open(where, WatchOptions{}.record_max); !store) {
        print_error(store.error());
        return {};
    }
    return where;
}

}  // namespace

Result<int> run_demo(const SysRoot& root, const std::string& scenario, const std::optional<std::string>& seconds) {
    const Scenario* found = find_scenario(scenario);
    if (!found)
        return plain_error("no demo is called '" + shortened(scenario) + "'", "the demos are: " + scenario_names());
    const auto length = wanted_length(seconds);
    if (!length) return length.error();
    return perform(root, *found, {.length = *length, .record = record_where(), .say = print});
}

}  // namespace memscope
