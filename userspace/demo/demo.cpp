#include "demo/demo.h"

#include <csignal>
#include <fmt/format.h>
#include <unistd.h>

#include "base/text.h"
#include "demo/python_actor.h"
#include "demo/tree.h"
#include "outputs/text/text_layout.h"
#include "watch/clock.h"
#include "watch/loop.h"

namespace memscope {

std::string opening(const Scenario& scenario, Seconds length, bool with_python) {
    return wrapped(fmt::format("memscope demo {}: {}", scenario.name, scenario.story)) +
           wrapped(fmt::format("{} processes in a cgroup limited to {}; {}, no GPU. Ends by itself after {}.",
                               count_actors(scenario.top), human_size(scenario.limit),
                               with_python ? "the trainer is a Python program" : "no Python", human_duration(length))) +
           "\n";
}

std::string closing(const Scenario& scenario, const Observation& seen, Seconds length) {
    const Seconds watched = seen.empty() ? Seconds{} : seen.back().at;
    const Answer answer = scenario.answer(seen);
    const Moment last = seen.empty() ? Moment{} : seen.back();
    const bool right = answer.seen && last.verdict == scenario.verdict;
    std::string verdict =
        fmt::format("{}The verdict of memscope is {}. Measured: {}",
                    right ? "" : "This run does not show what it should. ", phrase(last.verdict), answer.text);
    if (watched < 0.9 * length)
        verdict = fmt::format("Ended after {} of {}: too early for an answer.", human_duration(watched),
                              human_duration(length));
    return "\n" + wrapped(verdict) + "\n" +
           wrapped(fmt::format("All demos: {}. To watch your own job: sudo memscope --cgroup NAME, then memscope "
                               "status in another terminal.",
                               scenario_names()));
}

namespace {

constexpr const char* kCgroup = "memscope-demo";
constexpr Seconds kFastestTick{0.05};
constexpr Seconds kHeapEvery{2};  // at least between two heap censuses; a demo has no five minutes

// Blocks the signals from before the cgroup is created until it is removed, so that nothing is left behind. The watcher
// handles them.
void hold_back_signals() {
    sigset_t ends;
    ::sigemptyset(&ends);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&ends, number);
    ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);
}

WatchOptions watch_options(const Scenario& scenario, const TargetInfo& cgroup, StageClock& clock, Observation& seen) {
    WatchOptions options;
    options.own_cgroup = cgroup.name;
    options.shown = cgroup;
    options.duration = kScenarioLength / clock.speed();
    options.interval = std::max(Seconds{1} / clock.speed(), kFastestTick);
    options.warmup = kScenarioWarmup / clock.speed();
    options.heap_every = kHeapEvery / clock.speed();
    options.status_every = Seconds{10} / clock.speed();
    options.listen.reset();
    options.report_dir.clear();  // the end of the demo is not a death to report
    options.role_rules = role_rules_of(scenario.top);
    options.on_snapshot = [&clock, &seen, began = std::optional<double>()](const Snapshot& snapshot) mutable {
        if (!began) {
            began = snapshot.time;
            clock.begin(read_clock().boot_ns);
        }
        observe(seen, snapshot, *began);
    };
    return options;
}

}  // namespace

Result<int> perform(const SysRoot& root, const Scenario& scenario, const Performance& performance) {
    const auto hierarchy = find_hierarchy(root);
    if (!hierarchy) return hierarchy.error();
    if (::geteuid() != 0) return plain_error("the demo creates a cgroup and watches it", "run it with sudo");
    hold_back_signals();
    OwnCgroup::remove_left_behind(*hierarchy, kCgroup);
    auto cgroup = OwnCgroup::make(*hierarchy, kCgroup, scenario.limit);
    if (!cgroup) return cgroup.error();
    const std::string python = has_python_actor(scenario.top) ? find_demo_python().value_or("") : "";
    if (auto said = performance.say(opening(scenario, performance.length, !python.empty())); !said) return said.error();

    Observation seen;
    auto clock = StageClock::make(kScenarioLength / performance.length);
    if (!clock) return clock.error();
    auto tree = DemoTree::start(scenario.top, *cgroup, *clock, python);
    if (!tree) return tree.error();
    const TargetInfo shown{.name = cgroup->name(), .cgroup_version = hierarchy->version};
    const auto ended = watch(root, watch_options(scenario, shown, *clock, seen));
    if (const auto* failure = std::get_if<WatchFailure>(&ended)) return failure->error;
    (void)performance.say(closing(scenario, seen, performance.length));  // the reader may be gone; that is no error
    return std::get<int>(ended);
}

}  // namespace memscope
