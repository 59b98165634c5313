#include "cli/demo.h"

#include <cstdlib>

#include "base/text.h"
#include "cli/print.h"
#include "demo/demo.h"

namespace memscope {
namespace {

// Length of the demo in seconds, for tests: the same scenario runs faster or slower.
constexpr const char* kLengthVariable = "MEMSCOPE_DEMO_SECONDS";
constexpr std::uint64_t kShortest = 4;
constexpr std::uint64_t kLongest = 600;

Result<Seconds> wanted_length() {
    const char* given = std::getenv(kLengthVariable);
    if (!given) return kScenarioLength;
    const auto seconds = parse_number(given);
    if (seconds && *seconds >= kShortest && *seconds <= kLongest) return Seconds{static_cast<double>(*seconds)};
    return plain_error(std::string(kLengthVariable) + "='" + shortened(given) + "' is not a number from 4 to 600",
                       "remove the variable");
}

}  // namespace

Result<int> run_demo(const SysRoot& root, const std::string& scenario) {
    const Scenario* found = find_scenario(scenario);
    if (!found)
        return plain_error("no demo is called '" + shortened(scenario) + "'", "the demos are: " + scenario_names());
    const auto length = wanted_length();
    if (!length) return length.error();
    return perform(root, *found, {.length = *length, .say = print});
}

}  // namespace memscope
