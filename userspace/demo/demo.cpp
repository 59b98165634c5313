#include "demo/demo.h"

#include <csignal>
#include <fmt/format.h>
#include <unistd.h>

#include "demo/story.h"
#include "demo/tree.h"
#include "watch/clock.h"
#include "watch/loop.h"

namespace memscope {
namespace {

constexpr const char* kCgroup = "memscope-demo";
constexpr Seconds kFastestTick{0.05};

// From before the cgroup is made until it is gone: the watcher takes them from there, and nothing is left behind.
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
    options.status_every = Seconds{10} / clock.speed();
    options.listen.reset();
    options.report_dir.clear();  // how it ends is no news
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
    if (::geteuid() != 0) return plain_error("the demo makes a cgroup and watches it", "run it with sudo");
    hold_back_signals();
    OwnCgroup::remove_left_behind(*hierarchy, kCgroup);
    auto cgroup = OwnCgroup::make(*hierarchy, kCgroup, scenario.limit);
    if (!cgroup) return cgroup.error();
    if (auto told = performance.say(opening(scenario, performance.length)); !told) return told.error();

    Observation seen;
    auto clock = StageClock::make(kScenarioLength / performance.length);
    if (!clock) return clock.error();
    auto tree = DemoTree::start(scenario.top, *cgroup, *clock);
    if (!tree) return tree.error();
    const TargetInfo shown{.name = cgroup->name(), .cgroup_version = hierarchy->version};
    const auto ended = watch(root, watch_options(scenario, shown, *clock, seen));
    if (const auto* failure = std::get_if<WatchFailure>(&ended)) return failure->error;
    (void)performance.say(closing(scenario, seen, performance.length));  // a reader that is gone has seen enough
    return std::get<int>(ended);
}

}  // namespace memscope
