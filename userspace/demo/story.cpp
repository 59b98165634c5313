#include "demo/story.h"

#include <fmt/format.h>

#include "base/text.h"
#include "outputs/text_layout.h"

namespace memscope {

std::string opening(const Scenario& scenario, Seconds length) {
    return wrapped(fmt::format("memscope demo {}: {}", scenario.name, scenario.story)) +
           wrapped(fmt::format("{} processes in a cgroup limited to {}; no Python, no GPU. Ends by itself after {}.",
                               count_actors(scenario.top), human_size(scenario.limit), human_duration(length))) +
           "\n";
}

std::string closing(const Scenario& scenario, const Observation& seen, Seconds length) {
    const Seconds watched = seen.empty() ? Seconds{} : seen.back().at;
    const Answer answer = scenario.answer(seen);
    const Moment last = seen.empty() ? Moment{} : seen.back();
    const bool right = answer.seen && last.verdict == scenario.verdict;
    std::string verdict =
        fmt::format("{}memscope's verdict is {}. What was measured: {}",
                    right ? "" : "This run does not show what it should. ", word(last.verdict), answer.text);
    if (watched < 0.9 * length)  // half a story has no answer
        verdict = fmt::format("Ended after {} of {}: too early for an answer.", human_duration(watched),
                              human_duration(length));
    return "\n" + wrapped(verdict) + "\n" +
           wrapped(fmt::format("There are: {}. Your own job: sudo memscope --cgroup NAME, then memscope status in "
                               "another terminal.",
                               scenario_names()));
}

}  // namespace memscope
