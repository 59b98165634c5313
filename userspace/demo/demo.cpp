#include "demo/demo.h"

#include <csignal>
#include <fmt/format.h>
#include <unistd.h>

#include "base/text.h"
#include "demo/demo_tree.h"
#include "demo/picture.h"
#include "demo/python_job.h"
#include "outputs/text/text_layout.h"
#include "recording/store.h"
#include "watch/clock.h"
#include "watch/watch.h"

namespace memscope {

Scenario with_room_for(Scenario scenario, const std::optional<DemoPython>& python) {
    constexpr std::uint64_t kStep = 64ULL << 20;
    // A larger PyTorch also needs more for its first steps and in each worker.
    const std::uint64_t more = python ? (python->imported - kUsualInterpreter).n * 5 / 2 : 0;
    scenario.limit += Bytes{(more + kStep - 1) / kStep * kStep};
    return scenario;
}

std::string opening(const Scenario& scenario, Seconds length, const std::optional<DemoPython>& python) {
    std::string job;
    if (python)
        job = fmt::format("{} starts train.py, which has {} worker{}: Python {} ({}){}", scenario.job.called,
                          scenario.job.workers, scenario.job.workers == 1 ? "" : "s", python->version,
                          printable(python->program), python->torch.empty() ? "" : ", PyTorch " + python->torch);
    else
        job = fmt::format(
            "There is no CPython 3.10 to 3.15 here, so {} native processes simulate the job, and no line and "
            "no list can be named",
            count_actors(scenario.top));
    return wrapped(fmt::format("memscope demo {}: {}", scenario.name, scenario.story)) +
           wrapped(fmt::format("{}. The limit of its cgroup is {}. No GPU. Ends by itself after {}.", job,
                               human_size(scenario.limit), human_duration(length))) +
           "\n";
}

namespace {

std::string next_steps(const std::string& recording) {
    std::string text = "\nTry next:\n  sudo memscope -- python3 train.py\n";
    if (!recording.empty()) text += "  sudo memscope report " + printable(recording) + "\n";
    return text + wrapped("Other demos: sudo memscope demo NAME, where NAME is one of " + scenario_names() + ".");
}

}  // namespace

std::string closing(const Scenario& scenario, const Observation& seen, Seconds length, const std::string& recording) {
    const Seconds watched = seen.empty() ? Seconds{} : seen.back().at;
    if (watched < 0.9 * length)
        return "\n" +
               wrapped(fmt::format("Ended after {} of {}: too early for an answer.", human_duration(watched),
                                   human_duration(length))) +
               next_steps(recording);
    const auto kills = kills_of(seen);
    if (!kills.empty() && !scenario.is_killed)
        return "\n" + picture(seen, scenario.limit, kStoredText) + "\n" +
               wrapped(fmt::format("This run did not behave as expected: after {} the kernel killed {} at the "
                                   "limit of {}, which this demo should not reach.",
                                   human_duration(kills.front().at), printable(kills.front().comm),
                                   human_size(scenario.limit))) +
               next_steps(recording);
    const Answer answer = scenario.answer(seen);
    const Moment* judged = judged_moment(seen);
    const Verdict verdict = judged ? judged->verdict : Verdict::insufficient;
    const bool right = answer.seen && verdict == scenario.verdict;
    return "\n" + picture(seen, scenario.limit, kStoredText) + "\n" +
           wrapped(fmt::format("{}The verdict of memscope {} {}. Measured: {}",
                               right ? "" : "This run did not behave as expected. ",
                               kills.empty() ? "is" : "before the last kill was", phrase(verdict), answer.text)) +
           next_steps(recording);
}

namespace {

constexpr const char* kCgroup = "memscope-demo";
constexpr Seconds kFastestTick{0.05};
constexpr Seconds kHeapEvery{2};  // between two heap censuses; the default of 5 min is longer than a demo

// Blocks the signals from before the cgroup is created until it is removed, so that nothing is left behind. The watcher
// handles them.
void hold_back_signals() {
    sigset_t ends;
    ::sigemptyset(&ends);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&ends, number);
    ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);
}

WatchOptions watch_options(const Performance& performance, const TargetInfo& cgroup, StageClock& clock,
                           Observation& seen) {
    WatchOptions options;
    options.own_cgroup = cgroup.name;
    options.shown = cgroup;
    options.duration = kScenarioLength / clock.speed();
    options.interval = std::max(Seconds{1} / clock.speed(), kFastestTick);
    options.heap_every = kHeapEvery / clock.speed();
    options.status_every = Seconds{10} / clock.speed();
    options.listen.reset();
    options.report_dir.clear();  // the end of the demo is not a death to report
    options.record = performance.record;
    options.on_snapshot = [&clock, &seen, began = std::optional<double>()](const Snapshot& snapshot) mutable {
        if (!began) {
            began = snapshot.time;
            clock.begin(read_clock().boot_ns);
        }
        observe(seen, snapshot, *began);
    };
    return options;
}

// The recording of this demo. Empty: there is none.
std::string recording_of(const std::string& where, const std::string& target) {
    if (where.empty() || fs::path(where).native().ends_with(kRecordingSuffix)) return where;
    const auto found = find_recordings(where);
    std::string newest;
    if (found)
        for (const fs::path& file : *found)
            if (file.filename().native().starts_with(target + "-")) newest = file;
    return newest;
}

}  // namespace

Result<int> perform(const SysRoot& root, const Scenario& usual, const Performance& performance) {
    const auto hierarchy = find_hierarchy(root);
    if (!hierarchy) return hierarchy.error();
    if (::geteuid() != 0) return plain_error("the demo creates a cgroup and watches it", "run it with sudo");
    hold_back_signals();
    OwnCgroup::remove_left_behind(*hierarchy, kCgroup);
    const auto python = find_demo_python(!usual.job.with_torch.empty());
    const Scenario scenario = with_room_for(usual, python);
    auto cgroup = OwnCgroup::make(*hierarchy, kCgroup, scenario.limit);
    if (!cgroup) return cgroup.error();
    if (auto said = performance.say(opening(scenario, performance.length, python)); !said) return said.error();

    Observation seen;
    auto clock = StageClock::make(kScenarioLength / performance.length);
    if (!clock) return clock.error();
    std::optional<JobDirectory> directory;
    if (python) {
        auto made = JobDirectory::make(scenario.job, !python->torch.empty());
        if (!made) return made.error();
        directory.emplace(std::move(*made));
    }
    const TargetInfo shown{.name = cgroup->name(), .cgroup_version = hierarchy->version};
    WatchOptions options = watch_options(performance, shown, *clock, seen);
    options.warmup = scenario.warmup / clock->speed();
    if (!python) options.role_rules = role_rules_of(scenario.top);
    auto tree = python ? start_python_job(scenario.job, *python, *directory, *cgroup, *clock)
                       : DemoTree::start(scenario.top, *cgroup, *clock);
    if (!tree) return tree.error();
    const auto ended = watch(root, options);
    if (const auto* failure = std::get_if<WatchFailure>(&ended)) return failure->error;
    // An error is ignored, because the reader of the output may have ended.
    (void)performance.say(closing(scenario, seen, performance.length, recording_of(performance.record, shown.name)));
    return std::get<int>(ended);
}

}  // namespace memscope
