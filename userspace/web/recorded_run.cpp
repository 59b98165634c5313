#include "web/recorded_run.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <utility>

#include "record/record.h"

namespace memscope::web {
namespace {

constexpr std::size_t kMostHeaps = 16;
constexpr std::size_t kMostElements = 1 << 20;  // of a list in an untrusted record

// Limits the numbers of a snapshot to values that can be summed and shown, because a recording can be forged.
Status make_safe(Snapshot& snapshot) {
    DeathReport around{.then = std::move(snapshot)};
    auto limited = limit_untrusted(around, kMostElements);
    snapshot = std::move(around.then);
    return limited;
}

HeapCensus with_objects(WholeCensus whole) {
    HeapCensus census = std::move(whole.census);
    if (whole.objects) census.objects = std::make_shared<const ObjectCensus>(*std::move(whole.objects));
    return census;
}

std::optional<double> number_in(const std::map<std::string, std::string>& meta, const std::string& key) {
    const auto found = meta.find(key);
    double number = 0;
    if (found == meta.end()) return std::nullopt;
    const std::string& text = found->second;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    return read.ec == std::errc() && number > 0 ? std::optional(number) : std::nullopt;
}

}  // namespace

RecordedRun::RecordedRun(Recording whole, Recording single, RecordedTarget target)
    : recording_(std::make_unique<Recording>(std::move(whole))),
      single_(std::make_unique<Recording>(std::move(single))),
      mutex_(std::make_unique<std::mutex>()),
      target_(std::move(target)) {}

Result<RecordedRun> RecordedRun::open(const fs::path& path, const std::optional<std::string>& target) {
    auto whole = Recording::open(path);
    if (!whole) return whole.error();
    auto chosen = whole->target(target);
    if (!chosen) return chosen.error();
    auto single = Recording::open(path);
    if (!single) return single.error();
    return RecordedRun(*std::move(whole), *std::move(single), *std::move(chosen));
}

Result<std::optional<double>> RecordedRun::last_time() const {
    const std::lock_guard lock(*mutex_);
    const auto last = single_->tick_before(target_, std::numeric_limits<double>::infinity());
    if (!last) return last.error();
    return *last ? std::optional((**last).time) : std::nullopt;
}

Status RecordedRun::read_outline(RunState& run, double until) const {
    run.target = target_.info;
    run.recording = path().filename().string();
    run.began = recording_->began();
    run.interval = number_in(recording_->meta(), "interval");
    if (const auto version = recording_->meta().find("version"); version != recording_->meta().end())
        run.version = version->second;
    auto read = recording_->each_sample(target_, {}, [&](const RecordedSample& sample) {
        if (sample.time >= until) return true;
        run.curves.add_sample(sample.time, sample.bytes, sample.usage, sample.processes);
        run.summary.take_peak(sample.time, sample.bytes);
        if (run.ticks == 0) run.began = std::min(run.began, sample.time);
        run.last = std::max(run.last, sample.time);
        ++run.ticks;
        return true;
    });
    if (!read) return read;
    const auto bins = recording_->bins(target_);
    if (!bins) return bins.error();
    run.curves.add_sample_bins(recording_->began(), *bins);
    auto events = recording_->events(target_);
    if (!events) return events.error();
    for (RecordedEvent& event : *events)
        if (event.time < until) run.add_event(std::move(event));
    auto times = growth_times();
    if (!times) return times.error();
    run.growth_times = *std::move(times);
    times = heap_times();
    if (!times) return times.error();
    run.heap_times = *std::move(times);
    if (run.ticks == 0) return Done{};
    auto last = tick(std::min(until, run.last));
    if (!last) return last.error();
    if (*last) {
        run.summary.take_tick(**last, (**last).targets.front());
        run.last_tick = std::make_shared<const Snapshot>(**std::move(last));
    }
    return Done{};
}

Result<RunSummary> RecordedRun::read_ticks(double until,
                                           const std::function<bool(const std::vector<Figures>&)>& take) const {
    constexpr std::size_t kTogether = 256;
    std::vector<Figures> some;
    const RecordedSpan span{.to = Seconds(until - recording_->began())};
    auto summary = summarize(*recording_, target_, span, [&](const RecordedSample&, const Snapshot& snapshot) {
        some.push_back(figures_of(snapshot, snapshot.targets.front()));
        if (some.size() < kTogether) return true;
        const bool more = take(some);
        some.clear();
        return more;
    });
    if (summary && !some.empty()) take(some);
    return summary;
}

Result<std::map<std::string, std::vector<RecordedBin>>> RecordedRun::bins() const { return recording_->bins(target_); }

Result<std::optional<Snapshot>> RecordedRun::tick(double time) const {
    const std::lock_guard lock(*mutex_);
    const auto moment = single_->tick_before(target_, time);
    if (!moment) return moment.error();
    if (!*moment) return std::optional<Snapshot>();
    auto snapshot = single_->tick(target_, (**moment).id);
    if (!snapshot) return snapshot.error();
    if (auto safe = make_safe(*snapshot); !safe) return safe.error();
    return std::optional(*std::move(snapshot));
}

Result<std::optional<Growth>> RecordedRun::growth(double time) const {
    const std::lock_guard lock(*mutex_);
    auto growth = single_->growth_before(target_, time);
    if (!growth || !*growth) return growth;
    DeathReport around{.growth = *std::move(growth)};
    if (auto safe = limit_untrusted(around, kMostElements); !safe) return safe.error();
    return std::move(around.growth);
}

// The last census of each process and the census before it. Largest process first.
Result<std::vector<ProcessHeap>> RecordedRun::heap(double time) const {
    const std::lock_guard lock(*mutex_);
    const auto index = single_->census_index(target_);
    if (!index) return index.error();
    std::map<pid_t, std::pair<const RecordedCensus*, const RecordedCensus*>> latest;  // and the one before it
    for (const RecordedCensus& each : *index)
        if (each.time <= time) {
            auto& known = latest[each.pid];
            known = {&each, known.first};
        }
    std::vector<std::pair<const RecordedCensus*, const RecordedCensus*>> chosen;
    chosen.reserve(latest.size());
    for (const auto& [pid, known] : latest) chosen.push_back(known);
    std::ranges::stable_sort(chosen, std::greater(), [](const auto& known) { return known.first->time; });
    if (chosen.size() > kMostHeaps) chosen.resize(kMostHeaps);
    std::vector<ProcessHeap> heaps;
    for (const auto& [last, before] : chosen) {
        auto census = single_->census(target_, last->id);
        if (!census) return census.error();
        ProcessHeap heap{.role = census->role, .census = with_objects(*std::move(census))};
        if (before) {
            auto earlier = single_->census(target_, before->id);
            if (!earlier) return earlier.error();
            // Another process can have had the pid before.
            if (earlier->census.process == heap.census.process) heap.earlier = with_objects(*std::move(earlier));
        }
        heaps.push_back(std::move(heap));
    }
    std::ranges::stable_sort(heaps, std::greater(), [](const ProcessHeap& heap) { return heap.census.anon; });
    return heaps;
}

Result<std::vector<double>> RecordedRun::tick_times() const {
    const std::lock_guard lock(*mutex_);
    const auto index = single_->tick_index(target_);
    if (!index) return index.error();
    std::vector<double> times;
    for (const RecordedMoment& each : *index)
        if (times.empty() || each.time > times.back()) times.push_back(each.time);
    return times;
}

Result<std::vector<double>> RecordedRun::growth_times() const {
    const std::lock_guard lock(*mutex_);
    return single_->growth_times(target_);
}

Result<std::vector<double>> RecordedRun::heap_times() const {
    const std::lock_guard lock(*mutex_);
    const auto index = single_->census_index(target_);
    if (!index) return index.error();
    std::vector<double> times;
    for (const RecordedCensus& each : *index)
        if (times.empty() || each.time > times.back()) times.push_back(each.time);
    return times;
}

}  // namespace memscope::web
