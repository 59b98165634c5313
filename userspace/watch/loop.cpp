#include "watch/loop.h"

#include <algorithm>

#include "analysis/targets/job_end.h"
#include "watch/clock.h"

namespace memscope {
namespace {

constexpr int kFailedOn = 3;
constexpr std::size_t kMostMissedAtEnd = 10;
constexpr std::uint64_t kExtraTickEveryNs = 250'000'000;
constexpr Seconds kLastWrites{3};  // at the end: for recordings on a slow disk
constexpr Seconds kLastSymbols{1};

}  // namespace

void Loop::record_with(Recorder* recorder) {
    recorder_ = recorder;
    parts_.actions.name_recordings([recorder](const std::string& target) { return recorder->file_of(target); });
}

Status Loop::prepare() {
    Wakeups& wakeups = parts_.wakeups;
    if (auto watched = wakeups.watch_events(parts_.collector.events_fd()); !watched) return watched;
    if (parts_.command)
        if (auto watched = wakeups.watch_command(parts_.command->started_fd(), parts_.command->ended_fd()); !watched)
            return watched;
    if (parts_.actions.fd() >= 0)
        if (auto watched = wakeups.watch_actions(parts_.actions.fd()); !watched) return watched;
    if (auto watched = parts_.display.watch_descriptors(wakeups); !watched) return watched;
    if (auto started = parts_.pulse.start(wakeups); !started) return started;
    if (auto ticking = wakeups.tick_every(parts_.options.interval); !ticking) return ticking;
    began_ns_ = read_clock().boot_ns;
    return tick();
}

std::variant<int, WatchFailure> Loop::run() {
    if (!awaits_start_)
        parts_.pulse.ready();
    else if (auto released = parts_.command->release(); !released)
        return failed_start(released.error());
    while (!is_over()) {
        set_reminder();
        const Wake wake = parts_.wakeups.wait();
        if (auto failure = take_start()) return *std::move(failure);
        const auto next = handle(wake);
        if (!next) return WatchFailure{next.error()};
        if (*next == Next::stop) return stop();
    }
    if (!has_ended()) {
        show_last_deaths();
    } else {
        report_last_deaths();  // a last tick without targets has reported no deaths
        linger();
    }
    return finish();
}

// Called before any other use of a wake: if the command could not be started, no tick is printed, only the error.
std::optional<WatchFailure> Loop::take_start() {
    if (!awaits_start_) return std::nullopt;
    const auto started = parts_.command->take_start();
    if (!started) return std::nullopt;
    if (!*started) return failed_start(started->error());
    awaits_start_ = false;
    began_ns_ = read_clock().boot_ns;
    hand_out(parts_.latest_snapshot.get());
    parts_.pulse.ready();
    return std::nullopt;
}

WatchFailure Loop::failed_start(Error error) const {
    error.where += " '" + parts_.options.command.front() + "'";
    const int status = parts_.command->failed_start(error);
    return {std::move(error), false, status};
}

Result<Loop::Next> Loop::handle(Wake wake) {
    parts_.display.write_rest();
    switch (wake) {
        case Wake::stop:
            if (!parts_.command) return Next::stop;
            if (!parts_.wakeups.signal().from_terminal) parts_.command->pass_on(parts_.wakeups.signal().number);
            return Next::go_on;
        case Wake::reminder:
            reminder_at_.reset();
            [[fallthrough]];
        case Wake::events:
            parts_.collector.on_events();
            if (!awaits_start_ && parts_.reports.awaits_symbols() &&
                (wake == Wake::reminder || symbols_seen_ != parts_.collector.symbol_answers()))
                report_deaths();
            // If the last target has ended, no tick contains its end yet.
            if (!parts_.collector.finished() && !needs_extra_tick()) return Next::go_on;
            break;
        case Wake::tick:
            break;
        case Wake::command_ended:
            command_ended_ = true;  // the tick records how it ended
            break;
        case Wake::output:
        case Wake::command_started:
            return Next::go_on;
        case Wake::keys:
            return parts_.display.on_keys() == Display::Wish::quit ? Next::stop : Next::go_on;
        case Wake::resize:
            parts_.display.on_resize();
            return Next::go_on;
        case Wake::action_ended:
            parts_.actions.pump();
            report_actions();
            return Next::go_on;
        case Wake::watchdog:
            parts_.pulse.notify_watchdog();
            return Next::go_on;
    }
    if (auto done = tick(); !done) return done.error();
    return Next::go_on;
}

// A closed output ends a watcher, because its output has no reader. With a command watching continues: a user who
// closes the terminal does not want the job to end.
bool Loop::is_over() const {
    if ((parts_.display.closed() && !parts_.command) || is_duration_over()) return true;
    return has_ended() && !awaits_last_tick();
}

bool Loop::is_duration_over() const {
    if (awaits_start_) return false;
    const Seconds passed{static_cast<double>(read_clock().boot_ns - began_ns_) * 1e-9};
    return parts_.options.duration && passed >= *parts_.options.duration;
}

// The last tick contains the deaths of the job. If it was skipped for lack of a file descriptor, up to kMostMissedAtEnd
// ticks are tried.
bool Loop::awaits_last_tick() const { return missing_ticks_ && missed_at_end_ < kMostMissedAtEnd; }

// True if a tick must be taken now, because deaths are reported at once. Rate-limited, because many processes of a job
// can die in a short time.
bool Loop::needs_extra_tick() {
    const std::uint64_t now = read_clock().boot_ns;
    if (!parts_.collector.has_news() || now - extra_tick_ns_ < kExtraTickEveryNs) return false;
    extra_tick_ns_ = now;
    return true;
}

// A timer wakes the loop, because no event may come and ticks can be hours apart:
// - when a report that waits for symbols must be printed. Symbols that another thread loads for an answer or a
//   recording cause no event either.
// - when needs_extra_tick() allows the tick for a death again.
void Loop::set_reminder() {
    auto at = awaits_start_ ? std::nullopt : parts_.reports.symbols_until();
    if (parts_.collector.has_news() && !missing_ticks_) {  // a tick that failed is repeated at the interval
        const Seconds allowed = std::chrono::nanoseconds(extra_tick_ns_ + kExtraTickEveryNs);
        at = std::min(at.value_or(allowed), allowed);
    }
    if (!at || at == reminder_at_) return;
    parts_.wakeups.remind_in(*at - boot_time());
    reminder_at_ = at;
}

Status Loop::tick() {
    Collector& collector = parts_.collector;
    auto taken = collector.tick();
    if (!taken && parts_.latest_snapshot.get() && is_out_of_descriptors(taken.error())) {
        miss_tick(taken.error());
        return Done{};
    }
    if (!taken) return taken.error();
    if (std::exchange(missing_ticks_, false))
        parts_.display.warn(plain_error("enough file descriptors are free again: ticks continue"));
    parts_.pulse.ticked();
    for (const Error& refused : collector.take_refusals()) parts_.display.warn(refused);
    if (collector.finished() && taken->targets.empty()) return Done{};  // the last values stay visible
    // The first use of the tick, because the OOM killer may kill memscope next.
    parts_.reports.take(*taken, boot_time());
    add_own_state(*taken);
    const auto snapshot = std::make_shared<const Snapshot>(std::move(*taken));
    parts_.reports.remember(snapshot);
    if (parts_.options.on_snapshot) parts_.options.on_snapshot(*snapshot);
    parts_.latest_snapshot.publish(snapshot);
    if (awaits_start_) return Done{};  // the command may not exist: see take_start()
    hand_out(snapshot);
    return check_helpers();
}

// Descriptors may be free again at the next tick. If there are no ticks for too long, /-/healthy and the service
// manager report that.
void Loop::miss_tick(const Error& error) {
    ++missed_ticks_;
    if (has_ended()) ++missed_at_end_;
    if (!std::exchange(missing_ticks_, true))
        parts_.display.warn({error.code, error.where + ": ticks are skipped until a file descriptor is free",
                             "raise the limit of open files (LimitNOFILE= of a service, ulimit -n in a shell)"});
}

// Adds the losses and states of the outputs, because the collector does not know them.
void Loop::add_own_state(Snapshot& snapshot) const {
    SelfSample& self = snapshot.self;
    self.dropped["json_tick_skipped"] = parts_.display.skipped();
    self.dropped["tick_no_descriptor"] = missed_ticks_;
    self.dropped["report_failed"] = parts_.reports.failed();
    self.dropped["death_unreported"] = parts_.reports.unreported();
    self.dropped["record"] = recorder_ ? recorder_->dropped() : 0;
    if (!parts_.options.record.empty())
        self.recording = recorder_ ? RecordingState{recorder_->up(), recorder_->bytes()} : RecordingState{};
    self.actions = parts_.actions.tally();
}

// Without helper processes memscope can never read a process again. So it ends with a failure, and the service manager
// restarts it. With a command it continues, because the end of memscope would end the command.
Status Loop::check_helpers() {
    if (parts_.collector.has_helpers()) return Done{};
    Error error = plain_error("the process that starts helper processes was killed: processes cannot be read any more",
                              "start memscope again");
    if (!parts_.command) return error;
    if (!std::exchange(lacks_helpers_, true)) parts_.display.warn(error);
    return Done{};
}

void Loop::hand_out(const SnapshotPtr& snapshot) {
    // Actions come first, because an action should run before the limit is reached.
    parts_.actions.take_precursors(*snapshot, boot_time());
    parts_.display.warn_of_output();
    report_deaths();  // first of the printed lines: other lines of this tick refer to deaths
    if (has_ended()) report_last_deaths();
    report_actions();
    if (recorder_) {
        // Passes the tick to the thread of the recorder, which writes the recording.
        recorder_->take(snapshot, boot_time());
        report_recorder_troubles();
    }
    parts_.display.print(latest_.get(), *snapshot, *parts_.reports.others(snapshot));
    if (!parts_.collector.finished()) parts_.display.redraw(snapshot);  // the last target stays visible: see linger()
    latest_ = snapshot;
}

void Loop::report_deaths(DeathReporter::Symbols symbols) {
    DeathReporter& reports = parts_.reports;
    symbols_seen_ = parts_.collector.symbol_answers();
    for (const std::vector<std::string>& lines : reports.finish_reports(boot_time(), symbols))
        parts_.display.notify_of_death(lines);
    parts_.actions.take_deaths(reports.reported(), reports.unreported_moments(), boot_time());
    // Taken even if nothing is recorded, because reports that are not taken stay in memory.
    const auto whole = reports.take_reports();
    if (!recorder_) return;
    for (const auto& report : whole) recorder_->report(report);
    for (const ReportedDeath& death : reports.reported())
        if (!death.file.empty()) recorder_->note("report", death.file);
}

// Waits for symbols. After the last tick this is allowed, because no tick waits for the loop any more.
void Loop::report_last_deaths() {
    const Seconds until = boot_time() + kLastSymbols;
    while (parts_.reports.awaits_symbols() && !stopped_ && boot_time() < until) {
        stopped_ = parts_.pulse.stopped_within(parts_.wakeups, until - boot_time(), parts_.collector.events_fd());
        parts_.collector.on_events();
        if (symbols_seen_ != parts_.collector.symbol_answers()) report_deaths();
    }
    if (parts_.reports.awaits_symbols()) report_deaths(DeathReporter::Symbols::as_loaded);
}

// Called when watching ends although targets exist: takes a tick if processes have died since the last tick. Prints no
// warning if the helper processes were killed together with memscope.
void Loop::show_last_deaths() {
    parts_.collector.on_events();
    if (!parts_.collector.has_news()) return;
    if (auto done = tick(); !done && parts_.collector.has_helpers()) parts_.display.warn(done.error());
}

void Loop::report_actions() {
    std::vector<std::string> lines = parts_.actions.take_lines();
    const std::vector<std::string> troubles = parts_.actions.take_troubles();
    if (recorder_)
        for (const std::vector<std::string>* all : {&std::as_const(lines), &troubles})
            for (const std::string& line : *all) recorder_->note("action", line);
    if (parts_.display.shows_events()) {
        for (const std::string& trouble : troubles) lines.push_back("memscope: " + trouble);
        parts_.display.notify(lines);
    } else {
        for (const std::string& trouble : troubles) parts_.display.warn(plain_error(trouble));
    }
}

void Loop::report_recorder_troubles() {
    for (const Error& trouble : recorder_->take_troubles()) parts_.display.warn(trouble);
}

// Waits for slow readers of standard output and standard error.
void Loop::write_last_lines() {
    const Seconds began = boot_time();
    parts_.display.finish(patience_with_readers_);
    patience_with_readers_ = std::max(patience_with_readers_ - (boot_time() - began), Seconds{0});
}

// The targets have ended. The servers keep running for a while, so that the last scrape sees how they ended.
void Loop::linger() {
    const WatchOptions& options = parts_.options;
    parts_.pulse.rest();
    write_last_lines();  // no tick follows that would write the rest
    if (latest_) {
        Snapshot last = *latest_;
        if (!options.json && !options.quiet) {
            Snapshot after = last;
            after.targets.clear();
            after.unread.clear();
            parts_.display.print(latest_.get(), after, after);
        }
        for (TargetSnapshot& target : last.targets) end_target(target);
        const auto ended = std::make_shared<const Snapshot>(std::move(last));
        parts_.display.redraw(ended);
        parts_.latest_snapshot.publish(ended);
        write_last_lines();
    }
    const Seconds time = options.linger.value_or(parts_.command ? Seconds{0} : Seconds{60});
    if (!options.listen || time <= Seconds{0} || stopped_) return;
    patience_with_readers_ = kLastLines;
    if (parts_.display.has_view()) return linger_in_view(time);
    await_actions();
    Snapshot last = *parts_.latest_snapshot.get();
    last.self.actions = parts_.actions.tally();
    parts_.latest_snapshot.publish(std::make_shared<const Snapshot>(std::move(last)));
    stopped_ = stopped_ || parts_.pulse.stopped_within(parts_.wakeups, time);
}

void Loop::linger_in_view(Seconds time) {
    const Seconds until = boot_time() + time;
    while (boot_time() < until) {
        const Wake wake = parts_.wakeups.wait();  // ends at the next tick at the latest
        stopped_ = wake == Wake::stop || (wake == Wake::keys && parts_.display.on_keys() == Display::Wish::quit);
        if (stopped_) return;
        if (wake == Wake::action_ended) parts_.actions.pump();
        if (wake == Wake::watchdog) parts_.pulse.notify_watchdog();
        if (wake == Wake::resize) parts_.display.on_resize();
        if (wake == Wake::events) parts_.collector.on_events();
    }
}

// If watching ends by itself, waits for the actions that still run. If the user stops memscope, it does not wait.
void Loop::await_actions() {
    const Seconds until = boot_time() + parts_.actions.patience();
    while (!parts_.actions.idle() && !stopped_ && boot_time() < until) {
        stopped_ = parts_.pulse.stopped_within(parts_.wakeups, until - boot_time(), parts_.actions.fd());
        parts_.actions.pump();
    }
    report_actions();
}

int Loop::stop() {
    stopped_ = true;
    show_last_deaths();
    return finish();
}

int Loop::finish() {
    parts_.pulse.stopping();
    if (parts_.reports.awaits_symbols()) report_deaths(DeathReporter::Symbols::as_loaded);
    parts_.display.leave_view();
    await_actions();
    if (recorder_) {
        recorder_->finish(kLastWrites);
        report_recorder_troubles();
    }
    write_last_lines();
    const int status = parts_.command ? parts_.command->exit_status() : 0;
    return status == 0 && has_failed_verdict() ? kFailedOn : status;
}

// A target has a verdict of --fail-on at the end, or a suspected leak if --fail-on names that.
bool Loop::has_failed_verdict() const {
    return latest_ && std::ranges::any_of(latest_->targets, [this](const TargetSnapshot& target) {
               const ScopeVerdict* verdict = target.verdict();
               if (parts_.options.fail_on_suspected &&
                   std::ranges::any_of(target.verdicts,
                                       [](const ScopeVerdict& each) { return each.suspect.has_value(); }))
                   return true;
               return verdict && std::ranges::count(parts_.options.fail_on, verdict->judgement.verdict) > 0;
           });
}

}  // namespace memscope
