#include "web/page_data.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "analysis/targets/tick_events.h"
#include "base/text.h"
#include "outputs/growth/growth_json.h"
#include "outputs/heap/heap_json.h"
#include "outputs/http/http_client.h"
#include "outputs/json/tick_json.h"
#include "record/record.h"
#include "web/page_json.h"

namespace memscope::web {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();
constexpr Seconds kPatience{5};
constexpr Seconds kGrowthPatience{20};  // the watcher may have to symbolize thousands of stacks first
constexpr Seconds kHeapPatience{90};    // censuses of several processes, one after the other
constexpr std::size_t kMostSites = 200;
constexpr std::size_t kMostHeapEntries = 50;

PageAnswer error_answer(int status, std::string_view sentence) { return {status, error_json(sentence)}; }
PageAnswer error_answer(const Error& error) { return error_answer(503, error.message()); }

std::string tick_text(const Snapshot& snapshot) { return tick_json(snapshot, snapshot.targets.front()); }

// The message if a record cannot be decoded, or if it does not have exactly one target. The user has to do the same in
// both cases.
constexpr const char* kOtherVersion =
    "the running watcher has another version: restart it, or use the memscope that it was started with";

}  // namespace

Result<std::unique_ptr<PageData>> PageData::of_recording(RecordedRun recorded) {
    std::unique_ptr<PageData> data(new PageData);
    data->recorded_ = std::move(recorded);
    data->until_ = kForever;
    data->run_.mode = "recording";
    if (auto read = data->recorded_->read_outline(data->run_, kForever); !read) return read.error();
    if (data->run_.ticks == 0) return plain_error(data->recorded_->path().string() + ": has no tick yet");
    data->run_.ended = true;
    data->run_.complete = false;
    return data;
}

Result<std::unique_ptr<PageData>> PageData::of_watcher(AskWatcher ask, const std::string& target,
                                                       std::optional<RecordedRun> recorded, std::string history) {
    std::unique_ptr<PageData> data(new PageData);
    data->ask_ = std::move(ask);
    data->watched_ = target;
    data->recorded_ = std::move(recorded);
    data->run_.mode = "live";
    if (!history.empty()) data->run_.history = std::move(history);
    if (auto begun = data->begin_with_watcher(); !begun) return begun.error();
    return data;
}

Status PageData::begin_with_watcher() {
    auto answer = ask_("/api/v1/record?target=" + percent_encoded(watched_), kPatience);
    if (!answer) return answer.error();
    if (answer->status != 200)
        return plain_error(
            fmt::format("the watcher answered {}: {}", answer->status, shortened(printable(trimmed(answer->body)))));
    const auto first = decode_record<Snapshot>(answer->body);
    if (!first || first->targets.size() != 1) return plain_error(kOtherVersion);
    until_ = first->time;
    run_.began = run_.last = first->time;
    run_.target = first->targets.front().info;
    if (recorded_) {
        run_.last = 0;
        if (auto read = recorded_->read_outline(run_, until_); !read) return read;
        run_.complete = false;
        if (run_.ticks == 0) run_.began = first->time;
    }
    auto taken = take_record(std::move(answer->body));
    return taken ? Status(Done{}) : Status(taken.error());
}

PageData::~PageData() {
    {
        const std::lock_guard lock(stop_mutex_);
        stop_ = true;
    }
    stop_wake_.notify_all();
    if (history_.joinable()) history_.join();
    if (follower_.joinable()) follower_.join();
}

void PageData::start() {
    if (recorded_) history_ = std::thread([this] { read_history(); });
    if (ask_) follower_ = std::thread([this] { follow_watcher(); });
}

void PageData::read_history() {
    const auto summary = recorded_->read_ticks(until_, [this](const std::vector<Figures>& some) {
        const std::lock_guard lock(mutex_);
        for (const Figures& figures : some)
            if (figures.time < until_) run_.curves.add_rest(figures);
        return !stop_;
    });
    const auto bins = stop_ ? plain_error("stopped") : recorded_->bins();
    const std::lock_guard lock(mutex_);
    run_.complete = true;
    if (stop_) return;
    if (bins) run_.curves.add_other_bins(recorded_->began(), *bins);
    if (!summary) {
        run_.history = "Older ticks cannot be shown: " + summary.error().message() + ".";
        return;
    }
    PageSummary past = summary_of(*summary);
    if (!ask_) {
        run_.summary = std::move(past);
        return;
    }
    // Ticks of the watcher that arrived since are newer than the recording, so the summaries are merged.
    run_.summary.take_peak(past.peak_time, past.peak);
    if (past.kernel_peak)
        run_.summary.kernel_peak = std::max(run_.summary.kernel_peak.value_or(Bytes{}), *past.kernel_peak);
    std::erase_if(run_.summary.deaths, [&](const Death& death) {
        return std::ranges::find(past.deaths, death.id, &Death::id) != past.deaths.end();
    });
    run_.summary.deaths.insert(run_.summary.deaths.begin(), past.deaths.begin(), past.deaths.end());
    run_.summary.more_deaths += past.more_deaths;
    if (run_.summary.advice.empty()) run_.summary.advice = std::move(past.advice);
}

// Polls the watcher once per tick: after the time between the last two ticks. A watcher that does not answer several
// times counts as ended. It is polled again from time to time, because it may only have been busy.
void PageData::follow_watcher() {
    constexpr Seconds kShortest{0.2}, kLongest{10}, kAfterEnd{5};
    constexpr int kMostFailures = 3;
    int failures = 0;
    for (;;) {
        Seconds wait{1};
        {
            const std::lock_guard lock(mutex_);
            if (run_.interval) wait = std::clamp(Seconds(*run_.interval), kShortest, kLongest);
            if (failures >= kMostFailures) {
                run_.ended = true;
                wait = kAfterEnd;
            }
        }
        {
            std::unique_lock lock(stop_mutex_);
            if (stop_wake_.wait_for(lock, wait, [this] { return stop_.load(); })) return;
        }
        failures = poll() ? 0 : failures + 1;
        take_growth_times();
    }
}

// A watcher records growth once a minute, at each change of the verdict and at deaths.
void PageData::take_growth_times() {
    constexpr double kEvery = 10;  // seconds
    if (!recorded_) return;
    {
        const std::lock_guard lock(mutex_);
        if (run_.last - growth_times_read_ < kEvery) return;
        growth_times_read_ = run_.last;
    }
    auto times = recorded_->growth_times();
    if (!times) return;  // the next attempt may succeed; growth() reports the error
    const std::lock_guard lock(mutex_);
    run_.growth_times = *std::move(times);
}

Result<bool> PageData::poll() {
    auto answer = ask_("/api/v1/record?target=" + percent_encoded(watched_), kPatience);
    if (!answer) return answer.error();
    if (answer->status != 200) return plain_error("the watcher has no such target");
    return take_record(std::move(answer->body));
}

Result<bool> PageData::take_record(std::string record) {
    auto snapshot = decode_record<Snapshot>(record);
    if (!snapshot || snapshot->targets.size() != 1) return plain_error(kOtherVersion);
    const auto tick = std::make_shared<const Snapshot>(*std::move(snapshot));
    const std::lock_guard lock(mutex_);
    run_.ended = !tick->targets.front().up;
    if (!kept_.empty() && tick->time <= run_.last) return false;
    kept_bytes_ += record.size();
    kept_.push_back({tick->time, std::move(record)});
    while (kept_.size() > 1 && kept_bytes_ > kMostKeptBytes) {
        kept_bytes_ -= kept_.front().record.size();
        kept_.pop_front();
    }
    add_live(tick);
    return true;
}

void PageData::add_live(const SnapshotPtr& snapshot) {
    const TargetSnapshot& target = snapshot->targets.front();
    const TargetSnapshot* before = run_.last_target();
    // At the first tick there is no earlier tick to compare with, unless it is known from a recording.
    if (before)
        for (TickEvent& event : events_of_tick(before, target))
            run_.add_event({{}, snapshot->time, std::move(event.kind), std::move(event.text)});
    if (before && before->up && !target.up) run_.add_event({{}, snapshot->time, "end", "the target has ended"});
    const bool known_interval = recorded_ && run_.interval;
    if (!known_interval && run_.ticks > 0 && snapshot->time > run_.last) run_.interval = snapshot->time - run_.last;
    for (const ProcessHeap& heap : target.heap)
        if (run_.heap_times.empty() || heap.census.time > run_.heap_times.back())
            run_.heap_times.push_back(heap.census.time);
    run_.summary.take_tick(*snapshot, target);
    run_.last = snapshot->time;
    run_.last_tick = snapshot;
    ++run_.ticks;
    recent_.push_back(figures_of(*snapshot, target));
    run_.curves.add(recent_.back());
    if (recent_.size() > kMostLiveTicks) recent_.pop_front();
}

PageAnswer PageData::run() const {
    const std::lock_guard lock(mutex_);
    return {200, run_json(run_)};
}

PageAnswer PageData::curves(std::optional<double> from, std::optional<double> to, std::size_t width) const {
    const std::lock_guard lock(mutex_);
    return {200, curves_json(run_, from.value_or(run_.began), to.value_or(run_.last),
                             std::clamp(width, kLeastBins, kMostBins))};
}

PageAnswer PageData::tick(std::optional<double> at) const {
    SnapshotPtr latest;
    std::string record;
    {
        const std::lock_guard lock(mutex_);
        if (!at || *at >= run_.last) latest = run_.last_tick;
        if (!latest && at && !kept_.empty() && *at >= kept_.front().time) {
            const auto after = std::ranges::upper_bound(kept_, *at, {}, &Kept::time);
            record = std::prev(after)->record;
        }
    }
    if (latest) return {200, tick_text(*latest)};
    if (!record.empty()) {
        const auto snapshot = decode_record<Snapshot>(record);
        return snapshot ? PageAnswer{200, tick_text(*snapshot)} : error_answer(503, kOtherVersion);
    }
    if (!recorded_)
        return error_answer(404, "this tick is not kept: it is older than memscope web, and no recording can be read");
    const auto snapshot = recorded_->tick(*at);
    if (!snapshot) return error_answer(snapshot.error());
    if (!*snapshot) return error_answer(404, "the recording has no tick");
    return {200, tick_text(**snapshot)};
}

PageAnswer PageData::from_watcher(const std::string& path_and_query, Seconds patience) const {
    auto answer = ask_(path_and_query, patience);
    if (!answer) return error_answer(answer.error());
    if (answer->status == 200) return {200, std::move(answer->body)};
    return error_answer(answer->status == 404 ? 404 : 503, printable(trimmed(answer->body)));
}

PageAnswer PageData::growth(std::optional<double> at, const std::string& since) const {
    bool watcher = false;
    {
        const std::lock_guard lock(mutex_);
        watcher = ask_ && !run_.ended && (!at || *at >= run_.last);
    }
    if (watcher)
        return from_watcher(fmt::format("/api/v1/growth?target={}&format=json&since={}&top={}",
                                        percent_encoded(watched_), percent_encoded(since), kMostSites),
                            kGrowthPatience);
    if (!recorded_) return error_answer(404, "growth at this time is not known: no recording can be read");
    const double time = at.value_or(kForever);
    auto growth = recorded_->growth(time);
    if (!growth) return error_answer(growth.error());
    if (!*growth) return error_answer(404, "no growth was recorded before this time");
    const std::lock_guard lock(mutex_);
    // The time of the recorded growth, not the time that was asked for.
    const auto& times = run_.growth_times;
    const auto after = std::ranges::upper_bound(times, time);
    const double recorded = after == times.begin() ? run_.last : *std::prev(after);
    return {200,
            growth_json({.time = recorded, .target = run_.target, .growth = **std::move(growth), .top = kMostSites})};
}

PageAnswer PageData::heap(std::optional<double> at, bool take) const {
    if (take && ask_)
        return from_watcher(
            fmt::format("/api/v1/heap?target={}&format=json&top={}", percent_encoded(watched_), kMostHeapEntries),
            kHeapPatience);
    if (take) return error_answer(400, "a recording cannot take a new heap census");
    HeapReport report{.top = kMostHeapEntries};
    if (recorded_) {
        auto heaps = recorded_->heap(at.value_or(kForever));
        if (!heaps) return error_answer(heaps.error());
        report.processes = *std::move(heaps);
    }
    const std::lock_guard lock(mutex_);
    report.target = run_.target.name;
    // Without a recording the page has the censuses of the last tick, which have no lists of objects.
    if (report.processes.empty() && run_.last_tick && (!at || *at >= run_.last))
        report.processes = run_.last_tick->targets.front().heap;
    if (report.processes.empty()) return {200, R"({"processes":[]})"};
    for (const ProcessHeap& process : report.processes) report.time = std::max(report.time, process.census.time);
    return {200, heap_json(report)};
}

PageAnswer PageData::live(double after) const {
    const std::lock_guard lock(mutex_);
    std::vector<Figures> ticks;
    for (const Figures& figures : recent_)
        if (figures.time > after) ticks.push_back(figures);
    return {200, live_json(run_, ticks, after)};
}

}  // namespace memscope::web
