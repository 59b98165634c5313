#pragma once
#include <cstdint>
#include <optional>
#include <variant>

#include "outputs/http/latest_snapshot.h"
#include "recording/recorder.h"
#include "watch/actions/actions.h"
#include "watch/collector.h"
#include "watch/deaths/death_reporter.h"
#include "watch/display.h"
#include "watch/self/pulse.h"
#include "watch/targets/own_command.h"
#include "watch/wakeups.h"
#include "watch/watch.h"

namespace memscope {

// The main loop of a watcher: takes ticks, hands them to its outputs and decides when watching ends. CONTRIBUTING.md
// ("A tick") lists the cases in which it waits.
class Loop {
  public:
    // What the loop works with. `options`, `latest_snapshot` and `command` (if not null) must outlive the loop.
    struct Parts {
        const WatchOptions& options;
        OwnCommand* command;
        Wakeups wakeups;
        Collector collector;
        Display display;
        DeathReporter reports;
        Actions actions;
        Pulse pulse;
        LatestSnapshot& latest_snapshot;
    };
    explicit Loop(Parts parts) : parts_(std::move(parts)), awaits_start_(parts_.command != nullptr) {}

    // Null: nothing is recorded. `recorder` must live until run() has ended.
    void record_with(Recorder* recorder);
    Status prepare();  // takes the first tick, so that all outputs have values from here on
    std::variant<int, WatchFailure> run();

    Display& display() { return parts_.display; }

  private:
    enum class Next { go_on, stop };

    Result<Next> handle(Wake wake);
    std::optional<WatchFailure> take_start();
    WatchFailure failed_start(Error error) const;
    bool is_over() const;
    bool is_duration_over() const;
    bool has_ended() const { return command_ended_ || parts_.collector.finished(); }
    bool awaits_last_tick() const;
    bool needs_extra_tick();
    void set_reminder();

    Status tick();
    void miss_tick(const Error& error);
    void add_own_state(Snapshot& snapshot) const;
    Status check_helpers();

    void hand_out(const SnapshotPtr& snapshot);
    void report_deaths(DeathReporter::Symbols symbols = DeathReporter::Symbols::when_loaded);
    void report_last_deaths();
    void show_last_deaths();
    void report_actions();
    void report_recorder_troubles();

    void write_last_lines();
    void linger();
    void linger_in_view(Seconds time);
    void await_actions();
    int stop();
    int finish();
    bool has_failed_verdict() const;

    static constexpr Seconds kLastLines{1};

    Parts parts_;
    Recorder* recorder_ = nullptr;
    SnapshotPtr latest_{};        // handed to the outputs
    std::uint64_t began_ns_ = 0;  // when watching began, or the command was started; boot clock, as the next one
    std::uint64_t extra_tick_ns_ = 0;
    std::optional<Seconds> reminder_at_{};        // boot clock: when Wake::reminder comes
    std::uint64_t symbols_seen_ = 0;              // Collector::symbol_answers() at the last report_deaths()
    bool missing_ticks_ = false;                  // the last tick was skipped, because no file descriptor was free
    std::uint64_t missed_ticks_ = 0;              // all skipped ticks
    std::size_t missed_at_end_ = 0;               // skipped ticks after the last target or the command has ended
    Seconds patience_with_readers_ = kLastLines;  // what all write_last_lines() together may wait; new after linger()
    bool command_ended_ = false;
    bool awaits_start_;           // the command was not started yet; until then ticks are only served over HTTP
    bool lacks_helpers_ = false;  // no helper can be started, and a warning was printed
    bool stopped_ = false;        // by a signal or by a key
};

}  // namespace memscope
