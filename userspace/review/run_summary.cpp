#include "review/run_summary.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <utility>

#include "analysis/deaths/advice.h"
#include "analysis/deaths/death_moment.h"
#include "analysis/heap/holder_sentence.h"
#include "base/text.h"
#include "outputs/deaths/death_text.h"
#include "outputs/growth/growth_text.h"
#include "record/record.h"
#include "recording/recording_file.h"

namespace memscope {
namespace {

constexpr std::size_t kMostDeaths = 100;
constexpr std::size_t kMostPrecursors = 1000;
constexpr std::size_t kMostActions = 1000;
constexpr std::size_t kMostPoints = 240;
constexpr std::size_t kMostCensusesKept = 16;
constexpr std::size_t kRecentTicks = 8;         // before a death
constexpr std::size_t kMostElements = 1 << 20;  // of a list in an untrusted record
constexpr std::size_t kSiteWidth = 60;
constexpr Seconds kReportAfterDeath{60};
constexpr Seconds kGrowthAfterDeath{5};  // growth is recorded shortly after the end of the last process
// Growth at the peak may have been recorded at a maximum that is 5 % below the highest value.
constexpr double kNearPeak = 0.9;

void raise_to(Bytes& most, Bytes value) { most = std::max(most, value); }

std::optional<unsigned> index_of(const Snapshot& snapshot, const GpuId& gpu) {
    const auto found = std::ranges::find(snapshot.gpus, gpu, &GpuDevice::id);
    return found == snapshot.gpus.end() ? std::nullopt : std::optional(found->index);
}

// Reads the ticks of a run in their order.
class RunReader {
  public:
    explicit RunReader(RunSummary& run) : run_(run) {}

    void take(const RecordedSample& sample, Snapshot&& snapshot);
    Status finish(Recording& recording, const RecordedTarget& target, const RecordedSpan& span);
    // Time of the last tick with processes, since the recording began.
    Seconds last_at() const { return last_at_; }

  private:
    void take_memory(const RecordedSample& sample, const TargetSnapshot& target);
    void take_parts(const Snapshot& snapshot, const TargetSnapshot& target);
    void take_deaths(const Snapshot& snapshot, Seconds at);
    void keep_censuses(const SnapshotPtr& snapshot);

    RunSummary& run_;
    std::deque<SnapshotPtr> recent_{};
    SnapshotPtr last_{};  // the last tick with processes
    Seconds last_at_{};
    SnapshotPtr censuses_{};  // the tick whose heap censuses are kept
    Seconds died_{};          // last death, since the recording began
};

void RunReader::take(const RecordedSample& sample, Snapshot&& snapshot) {
    const auto tick = std::make_shared<const Snapshot>(std::move(snapshot));
    const TargetSnapshot& target = tick->targets.front();
    ++run_.ticks;
    run_.length = std::max(run_.length, sample.at);
    take_memory(sample, target);
    take_parts(*tick, target);
    take_deaths(*tick, sample.at);
    recent_.push_back(tick);
    if (recent_.size() > kRecentTicks) recent_.pop_front();
    if (target.processes.empty()) return;
    keep_censuses(tick);
    last_ = tick;
    last_at_ = sample.at;
}

void RunReader::take_memory(const RecordedSample& sample, const TargetSnapshot& target) {
    if (sample.bytes >= run_.peak.bytes) run_.peak = {sample.bytes, sample.time};
    const auto& mark = target.memory.peak;
    if (!mark || (run_.kernel_peak && *mark <= *run_.kernel_peak)) return;
    // A cgroup that is older than the recording may have held more before.
    constexpr Bytes kAlike{1 << 20};
    const bool earlier = !run_.kernel_peak && *mark > target.memory.usage + kAlike;
    run_.kernel_peak = mark;
    run_.kernel_peak_time = earlier ? std::nullopt : std::optional(sample.time);
}

void RunReader::take_parts(const Snapshot& snapshot, const TargetSnapshot& target) {
    run_.most_processes = std::max<std::uint64_t>(run_.most_processes, target.processes.size());
    for (const auto& [key, totals] : target.roles) {
        RunSummary::Part& part = run_.roles[role_text(key)];
        raise_to(part.peak, totals.own_anon());
        part.most_processes = std::max(part.most_processes, totals.processes);
    }
    if (!target.gpu) return;
    std::map<GpuId, Bytes> used;
    for (const auto& [role_device, use] : target.gpu->roles) {
        const Bytes bytes = use.used.value_or(use.reserved_total());
        used[role_device.second] += bytes;
        raise_to(run_.gpus[role_device.second].roles[role_text(role_device.first)], bytes);
    }
    for (const auto& [gpu, bytes] : used) {
        RunSummary::GpuPart& part = run_.gpus[gpu];
        raise_to(part.peak, bytes);
        if (!part.index) part.index = index_of(snapshot, gpu);
    }
}

void RunReader::take_deaths(const Snapshot& snapshot, Seconds at) {
    for (DeathMoment& moment : death_moments(snapshot)) {
        if (!moment.is_news()) continue;
        for (const Death& death : moment.deaths) {
            if (!death.news) continue;
            if (run_.deaths.size() < kMostDeaths)
                run_.deaths.push_back(death);
            else
                ++run_.more_deaths;
        }
        if (run_.last_death && belongs_to(moment, run_.last_death->decisive())) continue;
        const Snapshot* then = last_alive(recent_, snapshot.targets.front().info.name, moment.deaths.front());
        run_.last_death = DeathReport{.deaths = std::move(moment.deaths), .then = then ? *then : snapshot};
        died_ = at;
    }
}

// Censuses of a later tick replace those of an earlier tick, unless the largest process of the later tick has less than
// half of the memory: then the large processes have exited.
void RunReader::keep_censuses(const SnapshotPtr& snapshot) {
    const auto largest = [](const Snapshot& tick) { return tick.targets.front().heap.front().census.anon.n; };
    if (snapshot->targets.front().heap.empty()) return;
    if (!censuses_ || largest(*snapshot) >= largest(*censuses_) / 2) censuses_ = snapshot;
}

Status RunReader::finish(Recording& recording, const RecordedTarget& target, const RecordedSpan& span) {
    if (last_) run_.last = *last_;
    if (last_ && censuses_) {
        run_.last.targets.front().heap = censuses_->targets.front().heap;
        run_.census_time = censuses_->time;
    }
    // A process that exits by itself frees its memory first, so growth is taken before the end. A killed process frees
    // nothing, so the growth that was recorded at its death is taken.
    const Seconds after_death = died_ + kGrowthAfterDeath;
    const bool killed = run_.last_death && last_at_ <= after_death;
    auto growth = recording.growth_at(target, killed ? after_death : last_at_);
    if (!growth) return growth.error();
    run_.growth = *std::move(growth);
    std::optional<DeathReport> written;
    auto read = recording.each_report(target, [&](Seconds at, DeathReport report) {
        const bool wanted = run_.last_death ? at <= died_ + kReportAfterDeath : at >= span.from && at <= span.to;
        if (wanted) written = std::move(report);
        return true;
    });
    if (!read) return read;
    if (!run_.last_death) {
        // No recorded tick has the death, but its report was recorded later.
        if (!written) return Done{};
        run_.deaths = written->deaths;
        if (run_.deaths.size() > kMostDeaths) run_.deaths.resize(kMostDeaths);
        run_.more_deaths = written->deaths.size() - run_.deaths.size();
        run_.last_death = std::move(written);
        return Done{};
    }
    if (written && written->decisive().id == run_.last_death->decisive().id) {
        run_.last_death = std::move(written);
        return Done{};
    }
    growth = recording.growth_at(target, after_death);
    if (!growth) return growth.error();
    run_.last_death->growth = *std::move(growth);
    return Done{};
}

Status take_censuses(Recording& recording, const RecordedTarget& target, const RecordedSpan& span, RunSummary& run) {
    const auto size = [](const WholeCensus& census) { return census.census.anon; };
    auto read = recording.each_census(target, span, [&](Seconds, WholeCensus census) {
        if (!census.objects || census.objects->refusal != ObjectsRefusal::none) return true;
        const auto same = std::ranges::find_if(
            run.censuses, [&](const WholeCensus& each) { return each.census.process == census.census.process; });
        if (same != run.censuses.end())
            *same = std::move(census);
        else
            run.censuses.push_back(std::move(census));
        std::ranges::stable_sort(run.censuses, std::greater(), size);
        if (run.censuses.size() > kMostCensusesKept) run.censuses.pop_back();
        return true;
    });
    return read;
}

// A recording can be forged. Limits its numbers and lists to values that can be summed and shown.
Status make_safe(RunSummary& run) {
    DeathReport untrusted{.deaths = std::exchange(run.deaths, {}), .then = std::exchange(run.last, {})};
    if (auto limited = limit_untrusted(untrusted, kMostElements); !limited) return limited;
    run.deaths = std::move(untrusted.deaths);
    run.last = std::move(untrusted.then);
    for (std::optional<Growth>* growth : {&run.growth, &run.peak_growth}) {
        DeathReport around{.growth = std::move(*growth)};
        if (auto limited = limit_untrusted(around, kMostElements); !limited) return limited;
        *growth = std::move(around.growth);
    }
    return run.last_death ? limit_untrusted(*run.last_death, kMostElements) : Status(Done{});
}

void take_verdict(RunSummary& run) {
    const TargetSnapshot* target = run.last_target();
    if (!target) return;
    if (target->memory.effective) {
        run.limit = target->memory.effective->limit;
        run.limit_owner = target->memory.effective->owner;
    }
    const auto is_judged = [](const ScopeVerdict* verdict) {
        return verdict && verdict->judgement.verdict != Verdict::insufficient;
    };
    const ScopeVerdict* verdict = target->verdict();
    if (!is_judged(verdict) && run.last_death && !run.last_death->then.targets.empty() &&
        is_judged(run.last_death->target().verdict())) {
        verdict = run.last_death->target().verdict();
        run.judged_before_death = true;
    }
    if (!verdict) return;
    run.judgement = verdict->judgement;
    run.explanation = verdict->explanation;
    if (verdict->judgement.warmup_ended) run.warmup_ended = verdict->judgement.warmup_ended->count();
}

// The highest values of the phases and of the parts of the run.
class PhaseReader {
  public:
    // `last_at`: when RunSummary::last was recorded. This tick has the end of the warm-up in wall-clock time. The wall
    // clock may have been set during the run, so the phases are separated by the clock of the recording.
    PhaseReader(RunSummary& run, Seconds from, Seconds last_at) : run_(run), from_(from) {
        if (run.warmup_ended) warmup_ended_ = last_at - Seconds(run.last.time - *run.warmup_ended);
    }

    // `width`: length of the bin whose highest value is `bytes`; 0 for a tick. A bin in which the warm-up ended belongs
    // to no phase.
    void take(Seconds at, double time, Bytes bytes, Seconds width = {}) {
        if (bytes > run_.peak.bytes) run_.peak = {bytes, time};
        if (!warmup_ended_) return;
        if (at <= *warmup_ended_ && *warmup_ended_ < at + width) return;
        std::optional<RunSummary::Top>& top = at <= *warmup_ended_ ? run_.warmup_peak : run_.plateau_peak;
        if (!top || bytes > top->bytes) top = {bytes, time};
    }
    void take(const RecordedSample& sample) {
        take(sample.at, sample.time, sample.bytes);
        const double length = std::max((run_.length - from_).count(), 1e-9);
        const double place = std::clamp((sample.at - from_).count() / length, 0.0, 1.0);
        const auto part = static_cast<std::size_t>(place * (kMostPoints - 1));
        if (part_ != part && run_.series.size() < kMostPoints)
            run_.series.push_back({sample.time, sample.bytes, sample.usage});
        if (sample.bytes > run_.series.back().held) run_.series.back() = {sample.time, sample.bytes, sample.usage};
        part_ = part;
        if (!run_.peak_growth) return;
        const double away = std::abs(sample.time - run_.peak_growth->span.peak.value_or(0));
        if (away >= nearest_) return;
        nearest_ = away;
        at_peak_growth_ = sample.bytes;
    }
    // Drops growth that was stored at a much lower maximum, because it does not explain the peak.
    void check_peak_growth() const {
        const double held = static_cast<double>(at_peak_growth_.n), peak = static_cast<double>(run_.peak.bytes.n);
        if (run_.peak_growth && held < kNearPeak * peak) run_.peak_growth.reset();
    }

  private:
    RunSummary& run_;
    Seconds from_;
    std::optional<Seconds> warmup_ended_{};  // since the recording began
    std::optional<std::size_t> part_{};
    double nearest_ = 1e18;  // seconds between the growth at the peak and a tick
    Bytes at_peak_growth_{};
};

// Bins also cover the ticks that were removed since.
Status take_bins(Recording& recording, const RecordedTarget& target, const RecordedSpan& span, RunSummary& run,
                 PhaseReader& phases) {
    const auto bins = recording.bins(target);
    if (!bins) return bins.error();
    for (const auto& [name, series] : *bins)
        for (const RecordedBin& bin : series) {
            if (bin.at < span.from || bin.at > span.to) continue;
            constexpr std::string_view kRole = "role ", kGpu = "gpu ";
            if (name == "target")
                phases.take(bin.at, run.began + bin.at.count(), bin.high, recording::RecordingFile::kBin);
            if (name.starts_with(kRole)) raise_to(run.roles[name.substr(kRole.size())].peak, bin.high);
            if (name.starts_with(kGpu)) raise_to(run.gpus[name.substr(kGpu.size())].peak, bin.high);
        }
    return Done{};
}

void take_events(RunSummary& run) {
    const std::string own = printable(run.target) + ": ";
    for (const RecordedEvent& event : run.events) {
        const auto colon = event.text.find(": ");
        const std::string kind = event.text.substr(0, colon);
        if (event.kind == "precursor" && run.precursors.size() < kMostPrecursors)
            run.precursors.push_back(
                {event.time, {}, kind, colon == std::string::npos ? std::string() : event.text.substr(colon + 2)});
        if (event.kind == "precursor_over")
            for (RunSummary::ActivePrecursor& each : run.precursors)
                if (each.kind == kind && !each.until) each.until = event.time;
        // A recording has the commands of all targets of its watcher.
        if (event.kind == "action" && run.actions.size() < kMostActions) {
            if (event.text.starts_with(own)) run.actions.push_back(event.text.substr(own.size()));
            if (event.text.starts_with("--on-")) run.actions.push_back(event.text);
        }
    }
}

void advise(RunSummary& run) {
    if (run.last_death && !run.last_death->then.targets.empty()) {
        if (run.last_death->advice.empty())
            run.last_death->advice = advice_for(*run.last_death, top_site_of(*run.last_death, kSiteWidth));
        run.advice = run.last_death->advice;
        return;
    }
    const TargetSnapshot* target = run.last_target();
    if (!target) return;
    std::string site;
    if (run.growth && run.growth->owner) site = printable(run.growth->owner->place);
    run.advice = advice_for_run(*target, run.census_time, site, run.growth.has_value(), !run.precursors.empty());
}

}  // namespace

std::vector<const RecordedEvent*> RunSummary::events_of(std::string_view kind) const {
    std::vector<const RecordedEvent*> found;
    for (const RecordedEvent& event : events)
        if (event.kind == kind) found.push_back(&event);
    return found;
}

const ProcessHeap* RunSummary::holders() const {
    const TargetSnapshot* at_end = last_target();
    if (!at_end) return nullptr;
    const ProcessHeap* grows = heap_that_grows(*at_end, census_time);
    if (!holder_sentence(grows).empty()) return grows;
    const ProcessHeap* largest = nullptr;
    for (const ProcessHeap& heap : at_end->heap)
        if (heap.held && heap.held->refusal == ObjectsRefusal::none &&
            (!largest || heap.held->bytes > largest->held->bytes))
            largest = &heap;
    return largest;
}

Result<RunSummary> summarize(Recording& recording, const RecordedTarget& target, const RecordedSpan& span,
                             const ObserveTick& observe) {
    RunSummary run{.target = target.info.name, .began = recording.began()};
    if (const auto version = recording.meta().find("version"); version != recording.meta().end())
        run.version = version->second;
    auto peak_growth = recording.peak_growth(target);
    if (!peak_growth) return peak_growth.error();
    run.peak_growth = *std::move(peak_growth);

    RunReader ticks(run);
    bool stopped = false;
    auto read = recording.each_tick(target, span, [&](const RecordedSample& sample, Snapshot snapshot) {
        stopped = observe && !observe(sample, snapshot);
        if (!stopped) ticks.take(sample, std::move(snapshot));
        return !stopped;
    });
    if (!read) return read.error();
    if (stopped) return plain_error(recording.path().string() + ": the reading was stopped");
    if (run.ticks == 0) return plain_error(recording.path().string() + ": has no tick in that time");
    if (auto finished = ticks.finish(recording, target, span); !finished) return finished.error();
    if (auto taken = take_censuses(recording, target, span, run); !taken) return taken.error();
    if (auto safe = make_safe(run); !safe) return plain_error(recording.path().string() + ": " + safe.error().where);
    take_verdict(run);

    PhaseReader phases(run, std::max(span.from, Seconds{}), ticks.last_at());
    read = recording.each_sample(target, span, [&](const RecordedSample& sample) {
        phases.take(sample);
        return true;
    });
    if (!read) return read.error();
    if (auto taken = take_bins(recording, target, span, run, phases); !taken) return taken.error();
    phases.check_peak_growth();

    auto events = recording.events(target);
    if (!events) return events.error();
    for (RecordedEvent& event : *events)
        if (event.at >= span.from && event.at <= span.to) run.events.push_back(std::move(event));
    take_events(run);
    advise(run);
    return run;
}

}  // namespace memscope
