#include "recording/recorder.h"

#include <algorithm>
#include <fmt/format.h>
#include <pthread.h>

#include "analysis/targets/target_judge.h"
#include "analysis/targets/tick_events.h"
#include "base/text.h"
#include "record/record.h"

namespace memscope {
namespace {

constexpr Seconds kBoundsEvery{30};
constexpr const char* kSharedName = "small-targets";
constexpr std::string_view kPeakGrowth = "peak";
constexpr double kNewPeak = 1.05;  // factor; a smaller maximum is no new peak

// An estimate, to bound the queue.
Bytes size_of(const Snapshot& snapshot) {
    std::uint64_t sum = 0;
    for (const TargetSnapshot& target : snapshot.targets) sum += 4096 + 1024 * target.processes.size();
    return {sum};
}

// The lines of a target, without its name.
std::vector<std::string> lines_of(const std::vector<std::string>& all, const std::string& target) {
    const std::string prefix = printable(target) + ": ";
    std::vector<std::string> lines;
    for (const std::string& line : all)
        if (line.starts_with(prefix)) lines.push_back(line.substr(prefix.size()));
    return lines;
}

}  // namespace

Recorder::Recorder(RecordingStore store, Settings settings) : store_(std::move(store)), settings_(std::move(settings)) {
    thread_ = std::thread([this] { work(); });
    ::pthread_setname_np(thread_.native_handle(), "recorder");
}

Recorder::~Recorder() { finish(Seconds{0}); }

void Recorder::take(SnapshotPtr snapshot, Seconds now) {
    const Bytes size = size_of(*snapshot);
    const std::lock_guard lock(mutex_);
    if (ending_) return;
    if (!queue_.empty() && (queue_.size() >= kMostQueued || queued_ + size > kMostQueuedBytes)) {
        ++dropped_;
        return;
    }
    queued_ += size;
    queue_.push_back({.snapshot = std::move(snapshot),
                      .now = now,
                      .size = size,
                      .notes = std::exchange(notes_, {}),
                      .reports = std::exchange(reports_, {})});
    wake_.notify_one();
}

void Recorder::note(std::string kind, std::string text) {
    constexpr std::size_t kMostNotes = 1000;
    const std::lock_guard lock(mutex_);
    if (notes_.size() < kMostNotes)
        notes_.push_back({std::move(kind), std::move(text)});
    else
        ++dropped_;
}

void Recorder::report(std::shared_ptr<const DeathReport> report) {
    const std::lock_guard lock(mutex_);
    if (reports_.size() < kMostReports)
        reports_.push_back(std::move(report));
    else
        ++dropped_;
}

void Recorder::finish(Seconds patience) {
    {
        std::unique_lock lock(mutex_);
        ending_ = true;
        wake_.notify_one();
        // An empty queue is not enough, because the thread may wait for the symbols of the last item.
        if (!done_.wait_for(lock, patience, [this] { return ended_; })) {
            for (const Item& item : queue_) dropped_ += 1 + item.reports.size();
            queue_.clear();
            if (settings_.stop_growth) settings_.stop_growth();
        }
    }
    if (thread_.joinable()) thread_.join();
}

std::uint64_t Recorder::dropped() const {
    const std::lock_guard lock(mutex_);
    return dropped_;
}
bool Recorder::up() const {
    const std::lock_guard lock(mutex_);
    return up_;
}
Bytes Recorder::bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
}
std::vector<Error> Recorder::take_troubles() {
    const std::lock_guard lock(mutex_);
    return std::exchange(troubles_, {});
}

std::string Recorder::file_of(const std::string& target) const {
    const std::lock_guard lock(mutex_);
    const auto found = paths_.find(target);
    return found == paths_.end() ? std::string() : found->second;
}

// A death may be reported after its target has ended, so the paths of ended targets stay until there are too many.
void Recorder::note_path(const std::string& target, const fs::path& path) {
    constexpr std::size_t kMostPaths = 1000;
    std::error_code failed;
    const fs::path absolute = fs::absolute(path, failed);
    const std::lock_guard lock(mutex_);
    if (paths_.size() >= kMostPaths)
        std::erase_if(paths_, [this](const auto& each) { return !tracks_.contains(each.first); });
    paths_[target] = (failed ? path : absolute).string();
}

void Recorder::work() {
    Item rest;
    for (;;) {
        Item item;
        bool timeout = false;
        {
            std::unique_lock lock(mutex_);
            // Commits also if no further tick comes, because ticks can be an hour apart.
            timeout = !wake_.wait_for(lock, kCommitEvery, [this] { return ending_ || !queue_.empty(); });
            if (!timeout && queue_.empty()) {
                rest.notes = std::exchange(notes_, {});
                rest.reports = std::exchange(reports_, {});
                break;
            }
            if (!timeout) {
                item = std::move(queue_.front());
                queue_.pop_front();
                queued_ = queued_ - item.size;
            }
        }
        if (timeout) {
            if (auto done = commit(); !done) fail(done.error(), committed_);
        } else {
            try {
                write(item);
            } catch (const std::exception& error) {  // out of memory: the watcher must continue
                fail(plain_error(error.what()), item.now);
            }
        }
    }
    write_rest(std::move(rest));
    close_all();
    const std::lock_guard lock(mutex_);
    ended_ = true;
    done_.notify_all();
}

void Recorder::write(const Item& item) {
    take_reports(item);
    if (failed_ && item.now - *failed_ < kRetryAfter) {
        const std::lock_guard lock(mutex_);
        ++dropped_;
        return;
    }
    const std::vector<std::string> lines = notices_.write(before_.get(), *item.snapshot);
    before_ = item.snapshot;
    before_at_ = item.now;
    ++uncommitted_;
    Status written = keep_bounds();
    for (const TargetSnapshot& target : item.snapshot->targets) {
        if (!written) break;
        written = write_target(item, target, lines_of(lines, target.info.name));
    }
    if (written) written = write_reports(item);
    std::vector<std::string> gone;
    for (const auto& [name, track] : tracks_)
        if (!find_target(*item.snapshot, name) && !item.snapshot->has_unread(name)) gone.push_back(name);
    for (const std::string& name : gone)
        if (written) written = end_track(name, item.now, item.snapshot->time);
    if (written && item.now - committed_ >= kCommitEvery) {
        written = commit();
        committed_ = item.now;
    }
    if (!written) fail(written.error(), item.now);
}

// Writes the notes and reports that came after the last tick, with the time of that tick. close_all() counts the
// reports that are not written.
void Recorder::write_rest(Item rest) {
    take_reports(rest);
    if (!before_ || failed_) {
        const std::lock_guard lock(mutex_);
        dropped_ += rest.notes.size();
        return;
    }
    rest.now = before_at_;
    rest.snapshot = before_;
    Status written = Done{};
    for (const auto& [name, track] : tracks_)
        if (written && track.file) written = write_notes(track, rest);
    if (written) written = write_reports(rest);
    if (!written) fail(written.error(), rest.now);
}

Status Recorder::write_notes(const TargetTrack& track, const Item& item) {
    for (const Note& each : item.notes)
        if (auto added = track.file->add_event(track.id, item.now, item.snapshot->time, each.kind, each.text); !added)
            return added;
    return Done{};
}

Status Recorder::write_target(const Item& item, const TargetSnapshot& target, const std::vector<std::string>& lines) {
    auto found = track_of(item, target);
    if (!found) return found.error();
    TargetTrack& track = **found;
    if (!track.file) return Done{};
    track.most = std::max(track.most, judged_memory(target));
    const bool first = !track.before;
    if (first || !track.shared || item.now - track.recorded >= kSharedEvery) {
        if (auto added = track.file->add_tick(track.id, item.now, *item.snapshot, target); !added) return added;
        track.recorded = item.now;
    }
    for (const std::string& line : lines)
        if (auto added = track.file->add_event(track.id, item.now, item.snapshot->time, "notice", line); !added)
            return added;
    if (auto added = write_notes(track, item); !added) return added;
    if (auto added = write_events(track, item, target); !added) return added;
    if (auto added = write_heap(track, item, target); !added) return added;
    track.before = std::shared_ptr<const TargetSnapshot>(item.snapshot, &target);
    return Done{};
}

Status Recorder::write_events(TargetTrack& track, const Item& item, const TargetSnapshot& target) {
    const double time = item.snapshot->time;
    for (const TickEvent& event : events_of_tick(track.before.get(), target))
        if (auto added = track.file->add_event(track.id, item.now, time, event.kind, event.text); !added) return added;
    const bool changed = verdict_changed(track.before.get(), target);
    // Growth keeps the last state of processes for some seconds after their exit, so the growth of the previous tick
    // can still be read.
    if (const auto death = std::ranges::find_if(target.deaths, &Death::news);
        track.before && death != target.deaths.end() && item.now - track.growth_at >= kDeathGrowthEvery)
        return write_growth(track, *track.before, item.now, death->time, "death");
    if (track.before && target.processes.empty() && !track.before->processes.empty())
        return write_growth(track, *track.before, item.now, time, "end");
    if (changed && track.before) return write_growth(track, target, item.now, time, "verdict");
    if (item.now - track.growth_at >= (track.shared ? kSharedGrowthEvery : kGrowthEvery))
        return write_growth(track, target, item.now, time, "minute");
    return Done{};
}

Status Recorder::write_growth(TargetTrack& track, const TargetSnapshot& target, Seconds now, double time,
                              std::string_view reason) {
    track.growth_at = now;
    // It takes time to find the names of call sites, and there may be thousands of small targets.
    if ((track.shared && track.most < kSmall) || target.processes.empty()) return Done{};
    const auto add = [&](const GrowthOf& source, std::string_view why) -> Status {
        const std::optional<Growth> growth = source ? source(target) : std::nullopt;
        if (!growth || (why == kPeakGrowth && !growth->span.peak)) return Done{};
        return track.file->add_growth(track.id, now, time, why, why != "minute", encode_record(*growth));
    };
    if (auto added = add(settings_.growth, reason); !added) return added;
    // The growth at the peak is also written during the run, because a target can be removed together with its last
    // process. Then its growth is not known any more.
    const bool higher = static_cast<double>(track.most.n) > kNewPeak * static_cast<double>(track.peak.n);
    if (!higher && reason != "end") return Done{};
    track.peak = track.most;
    return add(settings_.peak_growth, kPeakGrowth);
}

// Writes the censuses that are new since the previous tick.
Status Recorder::write_heap(TargetTrack& track, const Item& item, const TargetSnapshot& target) {
    if (target.heap.empty() && track.censuses.empty()) return Done{};
    std::map<ProcessId, double> censuses;
    for (const ProcessHeap& heap : target.heap) {
        const HeapCensus& census = heap.census;
        censuses[census.process] = census.time;
        if (const auto known = track.censuses.find(census.process);
            known != track.censuses.end() && known->second == census.time)
            continue;
        WholeCensus whole{.role = heap.role, .census = census};
        if (census.objects) whole.objects = *census.objects;
        if (auto added = track.file->add_heap(track.id, item.now, whole); !added) return added;
    }
    track.censuses = std::move(censuses);
    return Done{};
}

// Replaces an earlier version of the same report that is not committed yet.
void Recorder::take_reports(const Item& item) {
    const auto key = [](const DeathReport& report) {
        return std::tuple(report.target().info.name, report.decisive().time, report.decisive().id);
    };
    for (const auto& report : item.reports) {
        std::erase_if(unsaved_, [&](const UnsavedReport& each) { return key(*each.report) == key(*report); });
        unsaved_.push_back({.report = report, .failed = failed_.has_value()});
    }
    if (unsaved_.size() <= kMostReports) return;
    const std::size_t most = unsaved_.size() - kMostReports;
    const auto dropped = std::count_if(unsaved_.begin(), unsaved_.begin() + static_cast<std::ptrdiff_t>(most),
                                       [](const UnsavedReport& each) { return !each.written; });
    unsaved_.erase(unsaved_.begin(), unsaved_.begin() + static_cast<std::ptrdiff_t>(most));
    const std::lock_guard lock(mutex_);
    dropped_ += static_cast<std::uint64_t>(dropped);
}

Status Recorder::write_reports(const Item& item) {
    for (UnsavedReport& unsaved : unsaved_)
        if (!unsaved.written)
            if (auto written = write_report(item, unsaved); !written) return written;
    return Done{};
}

// A target can have ended with the death, so that it is not in the snapshot.
Status Recorder::write_report(const Item& item, UnsavedReport& unsaved) {
    const DeathReport& report = *unsaved.report;
    auto found = tracks_.find(report.target().info.name);
    if (found == tracks_.end() && unsaved.failed) {
        // The target ended while nothing could be written: it gets a recording of the report and the tick before it.
        const auto made = track_of(item, report.target());
        if (!made) return made.error();
        found = tracks_.find(report.target().info.name);
        if (found->second.file)
            if (auto added = found->second.file->add_tick(found->second.id, item.now, report.then, report.target());
                !added)
                return added;
    }
    unsaved.written = true;
    if (found == tracks_.end()) {  // the recording of the target was closed before its report came
        const std::lock_guard lock(mutex_);
        ++dropped_;
        return Done{};
    }
    if (!found->second.file) return Done{};
    return found->second.file->add_report(found->second.id, item.now, report);
}

Result<Recorder::TargetTrack*> Recorder::track_of(const Item& item, const TargetSnapshot& target) {
    const auto found = tracks_.find(target.info.name);
    if (found != tracks_.end()) {
        TargetTrack& track = found->second;
        const bool grown = track.most >= kSmall || item.now - track.began >= kShort;
        if (!track.shared || !grown || files_.size() >= kMostFiles) return &track;
        auto file = new_file(target.info.name, item.now, item.snapshot->time);
        if (!file) return file.error();
        if (auto ended = track.file->end_target(track.id); !ended) return ended.error();
        const auto id = (*file)->add_target(target.info);
        if (!id) return id.error();
        track.file = *file;
        track.id = *id;
        track.shared = false;
        note_path(target.info.name, track.file->path());
        track.fresh = true;
        track.censuses.clear();
        return &track;
    }
    TargetTrack track{.began = item.now, .growth_at = item.now};
    if (store_.takes_one_target() && !files_.empty()) {
        // Only one target fits into the file that the user named.
        if (!std::exchange(reported_one_target_, true)) {
            const std::lock_guard lock(mutex_);
            troubles_.push_back(plain_error(
                fmt::format("{} is not recorded: one file can hold only one target", printable(target.info.name)),
                "name a directory with --record"));
        }
        return &tracks_.emplace(target.info.name, std::move(track)).first->second;
    }
    ++seen_;
    track.shared = seen_ > kSeparateTargets || files_.size() >= kMostFiles - 1;
    if (!track.shared) {
        auto file = new_file(target.info.name, item.now, item.snapshot->time);
        if (!file) return file.error();
        track.file = *file;
    } else {
        if (!shared_) {
            auto file = new_file(kSharedName, item.now, item.snapshot->time);
            if (!file) return file.error();
            shared_ = *file;
        }
        track.file = shared_;
    }
    const auto id = track.file->add_target(target.info);
    if (!id) return id.error();
    track.id = *id;
    note_path(target.info.name, track.file->path());
    return &tracks_.emplace(target.info.name, std::move(track)).first->second;
}

Result<recording::RecordingFile*> Recorder::new_file(const std::string& target, Seconds now, double time) {
    auto file = store_.create(target, time);
    if (!file) return file.error();
    const fs::path path = file->path;
    auto meta = settings_.meta;
    meta["begin"] = fmt::format("{:.3f}", time);
    auto made = recording::RecordingFile::create(*std::move(file), meta, now);
    if (!made) {
        store_.discard(path);
        return made.error();
    }
    files_.push_back(std::make_unique<recording::RecordingFile>(*std::move(made)));
    return files_.back().get();
}

Status Recorder::end_track(const std::string& name, Seconds now, double time) {
    const auto found = tracks_.find(name);
    TargetTrack track = std::move(found->second);
    tracks_.erase(found);
    if (!track.file) return Done{};
    if (track.before)
        if (auto added = write_growth(track, *track.before, now, time, "end"); !added) return added;
    if (auto added = track.file->add_event(track.id, now, time, "end", "the target has ended"); !added) return added;
    if (track.shared) return track.file->end_target(track.id);
    const auto file = std::ranges::find(files_, track.file, [](const auto& each) { return each.get(); });
    auto closed = (*file)->close();
    files_.erase(file);
    if (closed)  // close() commits
        std::erase_if(unsaved_, [&](const UnsavedReport& each) {
            return each.written && each.report->target().info.name == name;
        });
    return closed;
}

Status Recorder::commit() {
    for (const auto& file : files_)
        if (auto done = file->commit(); !done) return done;
    for (auto& [name, track] : tracks_) track.fresh = false;
    std::erase_if(unsaved_, [](const UnsavedReport& each) { return each.written; });
    const std::lock_guard lock(mutex_);
    if (uncommitted_ > 0) {  // otherwise nothing was written, so the disk may still be full
        up_ = true;
        failed_.reset();
    }
    uncommitted_ = 0;
    return Done{};
}

void Recorder::close_all() {
    if (before_ && !failed_)
        for (auto& [name, track] : tracks_)
            if (track.file && track.before) (void)write_growth(track, *track.before, committed_, before_->time, "end");
    tracks_.clear();
    Status all = Done{};
    for (const auto& file : files_)
        if (auto closed = file->close(); !closed) all = closed;
    files_.clear();
    shared_ = nullptr;
    if (!all && !failed_) fail(all.error(), committed_);
    if (all) std::erase_if(unsaved_, [](const UnsavedReport& each) { return each.written; });
    const std::lock_guard lock(mutex_);
    dropped_ += unsaved_.size();
}

Status Recorder::keep_bounds() {
    if (bounded_ != Seconds{} && before_ && committed_ - bounded_ < kBoundsEvery) return Done{};
    bounded_ = committed_;
    std::set<std::string> open;
    for (const auto& file : files_) open.insert(file->path().filename().string());
    const bool full = store_.disk_nearly_full();
    const Bytes left = store_.make_room(open, full);
    {
        const std::lock_guard lock(mutex_);
        bytes_ = left;
    }
    if (full && store_.disk_nearly_full()) {
        bounded_ = {};  // check again before the next attempt
        return system_error(ENOSPC, "write to " + store_.path().string() + ": 95 % of the disk are used",
                            "free some space, or choose another directory with --record");
    }
    // make_room() removes only closed files, so most of the bytes that are left are in files that this recorder has
    // open. Each of them may use the same part of the limit.
    const Bytes each{(store_.most().n - store_.most().n / 10) / std::max<std::size_t>(files_.size(), 1)};
    for (const auto& file : files_) {
        const auto used = file->used();
        if (!used) return used.error();
        if (*used > each)
            if (auto shrunk = file->shrink(); !shrunk) return shrunk;
    }
    return Done{};
}

// Drops the targets whose rows in the table `targets` were rolled back. They are added again at the next attempt to
// write.
void Recorder::forget_fresh_tracks() {
    for (auto track = tracks_.begin(); track != tracks_.end();) {
        if (!track->second.fresh) {
            ++track;
            continue;
        }
        if (track->second.file && !track->second.shared) {
            const auto file =
                std::ranges::find(files_, track->second.file, [](const auto& each) { return each.get(); });
            const fs::path path = (*file)->path();
            files_.erase(file);
            store_.discard(path);
        }
        track = tracks_.erase(track);
    }
}

// Reports only the first error until a write succeeds again. The ticks that are not committed are lost. Death reports
// are kept and written later.
void Recorder::fail(const Error& error, Seconds now) {
    for (const auto& file : files_) file->roll_back();
    forget_fresh_tracks();
    for (auto& [name, track] : tracks_) track.censuses.clear();  // some may have been rolled back
    for (UnsavedReport& each : unsaved_) {
        each.written = false;
        each.failed = true;
    }
    const bool reported_before = failed_.has_value();
    failed_ = now;
    const std::lock_guard lock(mutex_);
    dropped_ += std::exchange(uncommitted_, 0);
    up_ = false;
    if (!reported_before) {
        Error line = error;
        line.where = "recording: " + line.where;
        troubles_.push_back(std::move(line));
    }
}

}  // namespace memscope
