#include "watch/loop.h"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

#include "analysis/targets/job_end.h"
#include "outputs/http/board.h"
#include "outputs/http/http_server.h"
#include "outputs/http/routes.h"
#include "outputs/json/tick_json.h"
#include "outputs/text/notices.h"
#include "outputs/text/status_text.h"
#include "outputs/version.h"
#include "recording/recorder.h"
#include "sources/proc/descendants.h"
#include "sources/proc/procfs.h"
#include "watch/actions/actions.h"
#include "watch/collector.h"
#include "watch/deaths/death_reporter.h"
#include "watch/outlets.h"
#include "watch/self/least_privilege.h"
#include "watch/self/pulse.h"
#include "watch/self/rendezvous.h"
#include "watch/self/self_protection.h"
#include "watch/targets/own_command.h"
#include "watch/wakeups.h"

namespace memscope {
namespace {

constexpr std::size_t kMostTold = 100;
constexpr int kFailedOn = 3;
constexpr std::size_t kMostMissedAtEnd = 10;
constexpr std::uint64_t kTellAtOnceEveryNs = 250'000'000;
constexpr Seconds kLastWrites{3};  // at the end: for recordings on a slow disk
constexpr Seconds kLastWords{1};   // at the end: for a slow reader of standard output
constexpr Seconds kLastSymbols{1};

// Empty if growth is not followed. The recorder keeps its address when its collector is moved.
// `wait`: whether the caller can wait for symbols, which the thread of the ticks cannot.
GrowthSource growth_of(GrowthRecorder* recorder, const Board& board, NativeReads::Wait wait) {
    if (!recorder) return {};
    return [recorder, &board, wait](const std::string& name, const GrowthRequest& request) -> std::optional<Growth> {
        const SnapshotPtr latest = board.latest();
        if (!latest) return std::nullopt;
        const TargetSnapshot* target = find_target(*latest, name);
        return target ? std::optional(recorder->report(*target, request, wait)) : std::nullopt;
    };
}

// The process with that pid, or the largest ones.
std::vector<ProcessId> processes_to_read(const TargetSnapshot& target, std::optional<pid_t> pid) {
    std::vector<ProcessId> ids;
    if (!pid)
        for (const CensusWish& wish : largest_processes(target.processes)) ids.push_back(wish.process);
    if (!ids.empty()) return ids;
    const auto size = [](const Process& process) { return process.own_anon(); };
    const auto chosen =
        pid ? std::ranges::find_if(target.processes, [&](const Process& each) { return each.task.id.pid == *pid; })
            : std::ranges::max_element(target.processes, {}, size);
    if (chosen != target.processes.end()) ids.push_back(chosen->task.id);
    return ids;
}

HeapSource heap_of(HeapRecorder& recorder) {
    return [&recorder](const TargetSnapshot& target, std::optional<pid_t> pid) {
        std::vector<const Process*> processes;
        for (const ProcessId& id : processes_to_read(target, pid))
            for (const Process& process : target.processes)
                if (process.task.id == id) processes.push_back(&process);
        std::vector<ProcessId> ids;
        ids.reserve(processes.size());
        for (const Process* process : processes) ids.push_back(process->task.id);
        HeapAnswer answer;
        auto taken = recorder.take(ids);
        for (std::size_t i = 0; i < taken.size(); ++i) {
            if (!taken[i]) {
                answer.failed.push_back(taken[i].error());
                continue;
            }
            ProcessHeap heap{.role = {processes[i]->role, processes[i]->rank}, .census = *std::move(taken[i])};
            for (const ProcessHeap& known : target.heap)
                if (known.census.process == ids[i])
                    // Compare with a census that has objects, if there is one: otherwise no growth of objects is known.
                    heap.earlier = known.with_objects ? *known.with_objects : known.census;
            answer.processes.push_back(std::move(heap));
        }
        return answer;
    };
}

DeathReporter::GrowthOf growth_at(GrowthRecorder* recorder) {
    if (!recorder) return {};
    return [recorder](const TargetSnapshot& target) -> DeathReporter::GrowthThen {
        auto collected = recorder->collect(target, {.since = GrowthRequest::Since::warmup});
        return [recorder, collected = std::move(collected)](DeathReporter::Symbols symbols) -> std::optional<Growth> {
            NamedGrowth named = recorder->name(collected, NativeReads::Wait::no);
            if (!named.complete && symbols == DeathReporter::Symbols::when_loaded) return std::nullopt;
            return std::move(named.growth);
        };
    };
}

// These two run on the thread of the recorder.
Recorder::GrowthOf recorded_growth(GrowthRecorder* recorder) {
    if (!recorder) return {};
    return [recorder](const TargetSnapshot& target) -> std::optional<Growth> {
        return recorder->report(target, {.since = GrowthRequest::Since::warmup}, NativeReads::Wait::some);
    };
}

Recorder::GrowthOf recorded_peak_growth(GrowthRecorder* recorder) {
    if (!recorder) return {};
    return [recorder](const TargetSnapshot& target) -> std::optional<Growth> {
        return recorder->report(target, {.at_peak = true, .kept_peak = true}, NativeReads::Wait::some);
    };
}

// True if the default address is in use, usually by another watcher, and the user gave no option that needs HTTP. A
// service always needs HTTP, because Prometheus scrapes it.
bool can_watch_without_http(const WatchOptions& options, const ServiceNotifier& service, const Error& error) {
    const bool wanted = options.listen_chosen || options.http_status || !options.http_hosts.empty() || service.exists();
    return !wanted && error.code == std::errc::address_in_use;
}

// The options that a reader of a recording needs.
std::map<std::string, std::string> recorded_options(const WatchOptions& options) {
    return {{"version", std::string(kVersion)},
            {"interval", fmt::format("{}", options.interval.count())},
            {"warmup", fmt::format("{}", options.warmup.count())},
            {"maps", options.maps ? "true" : "false"},
            {"growth", options.growth ? "true" : "false"},
            {"python", options.python ? "true" : "false"},
            {"gpu", options.gpu ? "true" : "false"},
            {"torch", options.torch ? "true" : "false"}};
}

// The main loop of a watcher: takes ticks, writes its outputs and decides when watching ends.
class Loop {
  public:
    Loop(const WatchOptions& options, OwnCommand* command, Wakeups wakeups, Collector collector,
         std::optional<LineStream> output, std::optional<View> view, DeathReporter reports, Actions actions,
         Pulse pulse, Board& board)
        : options_(options),
          command_(command),
          wakeups_(std::move(wakeups)),
          collector_(std::move(collector)),
          output_(std::move(output)),
          view_(std::move(view)),
          reports_(std::move(reports)),
          actions_(std::move(actions)),
          pulse_(std::move(pulse)),
          board_(board) {}

    // Null: nothing is recorded. Must live until run() has ended.
    void record_with(Recorder* recorder) {
        recorder_ = recorder;
        actions_.name_recordings([recorder](const std::string& target) { return recorder->file_of(target); });
    }

    Status prepare() {  // takes the first tick, so that all outputs have values from here on
        if (auto watched = wakeups_.watch_events(collector_.events_fd()); !watched) return watched;
        if (command_)
            if (auto watched = wakeups_.watch_command(command_->ended_fd()); !watched) return watched;
        if (actions_.fd() >= 0)
            if (auto watched = wakeups_.watch_actions(actions_.fd()); !watched) return watched;
        if (view_)
            if (auto watched = wakeups_.watch_terminal(view_->input_fd()); !watched) return watched;
        if (auto saying = pulse_.start(wakeups_); !saying) return saying;
        if (auto ticking = wakeups_.tick_every(options_.interval); !ticking) return ticking;
        began_ = read_clock().boot_ns;
        return tick();
    }

    std::variant<int, WatchFailure> run() {
        if (command_)
            if (auto released = command_->release(); !released) {
                Error error = released.error();
                error.where += " '" + options_.command.front() + "'";
                return WatchFailure{error, false, command_->failed_start(error)};
            }
        if (command_ && !std::exchange(released_, true)) tell_of(board_.latest());
        pulse_.ready();
        while (!over()) {
            switch (wakeups_.wait()) {
                case Wake::stop:
                    if (!command_) return stop();
                    if (!wakeups_.signal().from_terminal) command_->pass_on(wakeups_.signal().number);
                    break;
                case Wake::events:
                    collector_.take_events();
                    if (reports_.awaits_symbols() && symbols_seen_ != collector_.symbol_answers()) tell_deaths();
                    // If the last target has ended, no tick contains its end yet.
                    if (!collector_.finished() && !tells_at_once()) break;
                    [[fallthrough]];
                case Wake::tick:
                    if (auto done = tick(); !done) return WatchFailure{done.error()};
                    break;
                case Wake::keys:
                    if (view_->on_input() == View::Wish::quit) return stop();
                    break;
                case Wake::action_ended:
                    actions_.pump();
                    tell_actions();
                    break;
                case Wake::alive:
                    pulse_.say_alive();
                    break;
                case Wake::resize:
                    view_->resized();
                    break;
                case Wake::command_ended:
                    command_ended_ = true;  // the tick records how it ended
                    if (auto done = tick(); !done) return WatchFailure{done.error()};
                    break;
            }
        }
        if (has_ended()) {
            tell_last_deaths();  // if the last tick had no target any more, it told none
            linger();
        }
        return finish();
    }

    void warn_user(const Error& error) {
        if (view_)
            tell("memscope: " + error.message());
        else
            warn(error);
    }

    void tell_user(const std::string& line) {
        if (view_)
            tell(line);
        else if (output_ && !options_.json && !options_.quiet)
            output_closed_ = output_->write_tick({line}) == LineStream::Outcome::closed;
    }

  private:
    // A closed output ends a watcher, because its output has no reader. With a command watching continues: a user who
    // closes the terminal does not want the job to end.
    bool over() const {
        if ((output_closed_ && !command_) || duration_over()) return true;
        return has_ended() && !awaits_last_tick();
    }

    bool has_ended() const { return command_ended_ || collector_.finished(); }

    // The last tick has the deaths of the job. If it was skipped for lack of a file descriptor, some more are tried.
    bool awaits_last_tick() const { return missing_ticks_ && missed_at_end_ < kMostMissedAtEnd; }

    // Whether to take a tick now, because a death is reported at once. Rate-limited: a job can let many processes die
    // in a short time.
    bool tells_at_once() {
        const std::uint64_t now = read_clock().boot_ns;
        if (!collector_.has_news() || now - told_at_once_ns_ < kTellAtOnceEveryNs) return false;
        told_at_once_ns_ = now;
        return true;
    }

    bool duration_over() const {
        const double passed = static_cast<double>(read_clock().boot_ns - began_) * 1e-9;
        return options_.duration && passed >= options_.duration->count();
    }

    Status tick() {
        auto taken = collector_.tick();
        if (!taken && latest_ && is_out_of_descriptors(taken.error())) {
            miss_tick(taken.error());
            return Done{};
        }
        if (!taken) return taken.error();
        if (std::exchange(missing_ticks_, false))
            warn_in_passing(plain_error("enough file descriptors are free again: ticks continue"));
        pulse_.ticked();
        for (const Error& refused : collector_.take_refusals()) warn_in_passing(refused);
        if (collector_.finished() && taken->targets.empty()) return Done{};  // the last values stay visible
        reports_.take(*taken, boot_time(), collector_.unread_targets());     // first: memscope may be killed next
        taken->self.dropped["json_tick_skipped"] = output_ ? output_->skipped() : 0;
        taken->self.dropped["tick_no_descriptor"] = missed_ticks_;
        taken->self.dropped["report_failed"] = reports_.failed();
        taken->self.dropped["death_unreported"] = reports_.unreported();
        taken->self.dropped["record"] = recorder_ ? recorder_->dropped() : 0;
        if (!options_.record.empty())
            taken->self.recording = recorder_ ? RecordingState{recorder_->up(), recorder_->bytes()} : RecordingState{};
        taken->self.actions = actions_.tally();
        auto snapshot = std::make_shared<const Snapshot>(std::move(*taken));
        reports_.remember(snapshot);
        if (options_.on_snapshot) options_.on_snapshot(*snapshot);
        board_.publish(snapshot);
        if (command_ && !released_) return Done{};  // the command may not exist: release() checks that
        tell_of(std::move(snapshot));
        return check_helpers();
    }

    // Without helper processes memscope can never read a process again. So it ends with a failure, and the service
    // manager restarts it. With a command it continues, because the end of memscope would end the command.
    Status check_helpers() {
        if (collector_.has_helpers()) return Done{};
        Error error =
            plain_error("the process that starts helper processes was killed: processes cannot be read any more",
                        "start memscope again");
        if (!command_) return error;
        if (!std::exchange(lacks_helpers_, true)) warn_in_passing(error);
        return Done{};
    }

    // Descriptors may be free again at the next tick. Without ticks /-/healthy and the service manager report it.
    void miss_tick(const Error& error) {
        ++missed_ticks_;
        if (has_ended()) ++missed_at_end_;
        if (!std::exchange(missing_ticks_, true))
            warn_in_passing({error.code, error.where + ": ticks are skipped until a file descriptor is free",
                             "raise the limit of open files (LimitNOFILE= of a service, ulimit -n in a shell)"});
    }

    void tell_of(SnapshotPtr snapshot) {
        // First, because an action should run before the limit is reached.
        actions_.take_precursors(*snapshot, boot_time(), collector_.unread_targets());
        warn_of_output();
        tell_deaths();  // first of the printed lines: other lines of this tick refer to deaths
        if (has_ended()) tell_last_deaths();
        tell_actions();
        record(snapshot);
        show(snapshot);
        latest_ = std::move(snapshot);
    }

    // Hands the tick to the thread of the recorder, which does all the work.
    void record(const SnapshotPtr& snapshot) {
        if (!recorder_) return;
        recorder_->take(snapshot, boot_time(), collector_.unread_targets());
        tell_recorder_troubles();
    }

    void tell_recorder_troubles() {
        for (const Error& trouble : recorder_->take_troubles()) {
            if (view_)
                tell("memscope: " + trouble.message());
            else
                warn_in_passing(trouble);
        }
    }

    void warn_of_output() {
        if (!output_) return;
        if (const auto trouble = output_->take_trouble()) warn_in_passing(*trouble);
    }

    void tell_actions() {
        std::vector<std::string> lines = actions_.take_lines();
        const std::vector<std::string> troubles = actions_.take_troubles();
        if (recorder_)
            for (const std::vector<std::string>* all : {&std::as_const(lines), &troubles})
                for (const std::string& line : *all) recorder_->note("action", line);
        for (const std::string& trouble : troubles) lines.push_back("memscope: " + trouble);
        if (lines.empty()) return;
        if (view_)
            for (const std::string& line : lines) tell(line);
        else if (output_ && !options_.json && !options_.quiet)
            output_closed_ = output_->write_tick(lines) == LineStream::Outcome::closed || output_closed_;
        else
            for (const std::string& trouble : troubles) warn_in_passing(plain_error(trouble));
    }

    // If watching ends by itself, waits for the actions that still run. If the user stops memscope, it does not wait.
    void await_actions() {
        const Seconds until = boot_time() + actions_.patience();
        while (!actions_.idle() && !stopped_ && boot_time() < until) {
            stopped_ = pulse_.stopped_within(wakeups_, until - boot_time(), actions_.fd());
            actions_.pump();
        }
        tell_actions();
    }

    void tell_deaths(DeathReporter::Symbols symbols = DeathReporter::Symbols::when_loaded) {
        symbols_seen_ = collector_.symbol_answers();
        for (const std::vector<std::string>& block : reports_.tell(boot_time(), symbols)) {
            if (view_) {
                view_->note(block.front());  // the first line says what happened; the view has no room for the advice
                for (const std::string& line : block) keep(line);
            } else if (output_ && !options_.json && !options_.quiet) {
                output_closed_ = output_->write_tick(block) == LineStream::Outcome::closed || output_closed_;
            }
        }
        actions_.take_deaths(reports_.reported(), reports_.unreported_moments(), boot_time());
        const auto reports = reports_.take_reports();  // also if nothing is recorded, because they take memory
        if (!recorder_) return;
        for (const auto& report : reports) recorder_->report(report);
        for (const ReportedDeath& death : reports_.reported())
            if (!death.file.empty()) recorder_->note("report", death.file);
    }

    // After the last tick nothing is delayed by waiting for symbols.
    void tell_last_deaths() {
        const Seconds until = boot_time() + kLastSymbols;
        while (reports_.awaits_symbols() && !stopped_ && boot_time() < until) {
            stopped_ = pulse_.stopped_within(wakeups_, until - boot_time(), collector_.events_fd());
            collector_.take_events();
            if (symbols_seen_ != collector_.symbol_answers()) tell_deaths();
        }
        if (reports_.awaits_symbols()) tell_deaths(DeathReporter::Symbols::as_loaded);
    }

    // Shows the line in the view now. It is printed as a plain line when the view has closed.
    void tell(const std::string& line) {
        view_->note(line);
        keep(line);
    }

    void keep(const std::string& line) {
        told_.push_back(line);
        if (told_.size() > kMostTold) told_.erase(told_.begin());
    }

    void show(const SnapshotPtr& now) {
        const Snapshot& snapshot = *now;
        if (view_) {
            for (const std::string& line : notices_.write(latest_.get(), *reports_.others(now))) tell(line);
            if (!collector_.finished()) view_->update(now);  // the last target stays visible: see linger()
            return;
        }
        // Targets that cannot be watched are an error. Where no notices are printed, it goes to standard error.
        if (!output_ || options_.json || options_.quiet)
            for (const std::string& line : unwatched_targets(latest_ ? &latest_->self : nullptr, snapshot.self))
                warn_in_passing(plain_error(line));
        if (!output_) return;
        std::vector<std::string> lines;
        if (options_.json)
            for (const TargetSnapshot& target : snapshot.targets) {
                if (target.up || !target.deaths.empty()) lines.push_back(tick_json(snapshot, target));
            }
        else if (!options_.quiet)
            lines = notices_.write(latest_.get(), *reports_.others(now));
        if (status_due())
            for (const TargetSnapshot& target : snapshot.targets) lines.push_back(status_text(snapshot, target, false));
        if (!lines.empty()) output_closed_ = output_->write_tick(lines) == LineStream::Outcome::closed;
    }

    bool status_due() {
        const std::uint64_t now = read_clock().boot_ns;
        if (!options_.status_every || static_cast<double>(now - status_shown_) * 1e-9 < options_.status_every->count())
            return false;
        status_shown_ = now;
        return true;
    }

    // The targets have ended. The servers keep running for a while, so that the last scrape sees how they ended.
    void linger() {
        pulse_.rest();
        if (latest_) {
            Snapshot last = *latest_;
            if (!options_.json && !options_.quiet) {
                Snapshot after = last;
                after.targets.clear();
                show(std::make_shared<const Snapshot>(std::move(after)));
            }
            for (TargetSnapshot& target : last.targets) end_target(target);
            const auto ended = std::make_shared<const Snapshot>(std::move(last));
            if (view_) view_->update(ended);
            board_.publish(ended);
        }
        const Seconds time = options_.linger.value_or(command_ ? Seconds{0} : Seconds{60});
        if (!options_.listen || time <= Seconds{0} || stopped_) return;
        if (view_) return linger_in_view(time);
        await_actions();
        Snapshot last = *board_.latest();
        last.self.actions = actions_.tally();
        board_.publish(std::make_shared<const Snapshot>(std::move(last)));
        stopped_ = stopped_ || pulse_.stopped_within(wakeups_, time);
    }

    void linger_in_view(Seconds time) {
        const std::uint64_t began = read_clock().boot_ns;
        while (static_cast<double>(read_clock().boot_ns - began) * 1e-9 < time.count()) {
            const Wake wake = wakeups_.wait();  // ticks wake it up, so it returns at most one interval too late
            stopped_ = wake == Wake::stop || (wake == Wake::keys && view_->on_input() == View::Wish::quit);
            if (stopped_) return;
            if (wake == Wake::action_ended) actions_.pump();
            if (wake == Wake::alive) pulse_.say_alive();
            if (wake == Wake::resize) view_->resized();
            if (wake == Wake::events) collector_.take_events();
        }
    }

    int stop() {
        stopped_ = true;
        return finish();
    }

    int finish() {
        pulse_.stopping();
        if (reports_.awaits_symbols()) tell_deaths(DeathReporter::Symbols::as_loaded);
        view_.reset();  // restores the terminal
        if (output_ && !told_.empty()) (void)output_->write_tick(told_);
        await_actions();
        if (recorder_) {
            recorder_->finish(kLastWrites);
            tell_recorder_troubles();
        }
        if (output_) output_->finish(kLastWords);
        warn_of_output();
        const int status = command_ ? command_->exit_status() : 0;
        return status == 0 && failed() ? kFailedOn : status;
    }

    // A target has a verdict of --fail-on at the end.
    bool failed() const {
        return latest_ && std::ranges::any_of(latest_->targets, [this](const TargetSnapshot& target) {
                   const ScopeVerdict* verdict = target.verdict();
                   return verdict && std::ranges::count(options_.fail_on, verdict->judgement.verdict) > 0;
               });
    }

    const WatchOptions& options_;
    OwnCommand* command_;
    Wakeups wakeups_;
    Collector collector_;
    std::optional<LineStream> output_;
    std::optional<View> view_;
    std::vector<std::string> told_{};  // lines to print when the view has closed
    DeathReporter reports_;
    std::uint64_t symbols_seen_ = 0;  // Collector::symbol_answers() when deaths were told last
    Actions actions_;
    Pulse pulse_;
    Board& board_;
    Recorder* recorder_ = nullptr;
    SnapshotPtr latest_{};
    bool missing_ticks_ = false;      // the last tick was skipped, because no file descriptor was free
    std::uint64_t missed_ticks_ = 0;  // all skipped ticks
    std::size_t missed_at_end_ = 0;   // those after the last target or the command has ended
    NoticeWriter notices_{};
    std::uint64_t began_ = 0;
    std::uint64_t status_shown_ = 0;
    std::uint64_t told_at_once_ns_ = 0;  // boot clock
    bool output_closed_ = false;
    bool command_ended_ = false;
    bool released_ = false;
    bool lacks_helpers_ = false;  // a warning about it was printed
    bool stopped_ = false;        // by a signal or by a key
};

}  // namespace

std::variant<int, WatchFailure> watch(const SysRoot& root, const WatchOptions& asked, OwnCommand* command) {
    WatchOptions options = asked;
    const auto cannot = [](const Error& error) { return WatchFailure{error, true}; };
    const auto is_alive = [root](ProcessId id) { return static_cast<bool>(open_process(root, id)); };
    ServiceNotifier service = ServiceNotifier::from_environment();
    auto actions = Actions::start(options, is_alive);  // first: its helper must inherit nothing of the watcher
    if (!actions) return cannot(actions.error());
    for (const std::string& trouble : actions->take_troubles()) warn(plain_error(trouble));
    auto wakeups = Wakeups::open(command != nullptr);  // before the servers: their threads inherit the blocked signals
    if (!wakeups) return cannot(wakeups.error());
    allow_many_open_files();
    auto output = open_output(options);
    if (!output) return cannot(output.error());
    // After the helper that runs the user's commands was forked, and before the helpers that read processes are, which
    // inherit the score: if the process that starts them is killed, memscope has to end. Without permission the score
    // stays as it is, and memscope doctor reports it.
    (void)lower_own_oom_score(root);
    auto collector = Collector::start(root, options);
    if (!collector) return cannot(collector.error());

    for (const Error& refused : collector->refused()) warn(refused);  // features that memscope works without
    auto reports = open_reports(options);
    auto recordings = open_recordings(options);
    // Before the servers start their threads: a thread keeps the capabilities that it starts with.
    if (auto dropped = drop_privileges(root, options); !dropped) warn(dropped.error());

    Heartbeat heartbeat(options.interval);  // must outlive the servers, which read it
    const auto trouble = [&heartbeat] { return heartbeat.trouble(read_clock().boot_ns); };
    Board board;                                     // must outlive the servers, which read it
    std::optional<Loop> loop;                        // must outlive the servers: requests for growth read its collector
    HeapRecorder& heap = collector->heap();          // keeps its address when the collector is moved
    GrowthRecorder* recorder = collector->growth();  // keeps its address when the collector is moved
    const GrowthSource growth = growth_of(recorder, board, NativeReads::Wait::yes);
    std::optional<HttpServer> http;
    std::optional<Error> unserved;  // why this watcher has no HTTP server although none was switched off
    if (options.listen) {
        const auto address = parse_listen(*options.listen);
        if (!address) return cannot(address.error());
        auto server = HttpServer::on_tcp(
            *address, make_routes(board, {.status = options.http_status, .growth = growth, .trouble = trouble}), {},
            options.http_hosts);
        if (server) {
            http.emplace(std::move(*server));
        } else if (can_watch_without_http(options, service, server.error())) {
            unserved =
                plain_error(fmt::format("{} is in use, so this watcher serves no /metrics", *options.listen),
                            "give it another address with --listen, as in --listen 127.0.0.1:9751, or --listen none");
            options.listen.reset();
        } else {
            return cannot(server.error());
        }
    }
    loop.emplace(options, command, std::move(*wakeups), std::move(*collector), std::move(*output),
                 open_view(options, growth_of(recorder, board, NativeReads::Wait::no)),
                 DeathReporter(std::move(reports), growth_at(recorder)), std::move(*actions),
                 Pulse(std::move(service), heartbeat), board);
    std::optional<Recorder> recording;  // ends before the loop, because its thread reads growth from the collector
    if (recordings) {
        recording.emplace(*std::move(recordings), Recorder::Settings{.meta = recorded_options(options),
                                                                     .growth = recorded_growth(recorder),
                                                                     .peak_growth = recorded_peak_growth(recorder)});
        loop->record_with(&*recording);
    }
    if (auto prepared = loop->prepare(); !prepared) return cannot(prepared.error());
    if (unserved) loop->warn_user(*unserved);
    if (const SnapshotPtr first = board.latest()) {
        for (const std::string& target : targets_around(*first, own_cgroup_path(root)))
            loop->warn_user(plain_error(inside_warning(target)));
        if (first->targets.empty()) loop->tell_user(waiting_notice(options.cgroups));
    }

    // Without the socket `memscope status` does not find this watcher. That is a warning only, and watching goes on.
    remove_stale_sockets(root);
    auto status = HttpServer::on_unix(
        own_socket(root),
        make_routes(board,
                    {.status = true, .growth = growth, .trouble = trouble, .heap = heap_of(heap), .record = true}));
    if (!status) loop->warn_user(status.error());
    auto ended = loop->run();
    heap.stop_waiting();
    if (recorder) recorder->stop_waiting();  // the servers end when all requests are answered
    return ended;
}

}  // namespace memscope
