#pragma once
#include <optional>
#include <string>
#include <vector>

#include "model/snapshot.h"
#include "outputs/text/line_stream.h"
#include "outputs/text/notices.h"
#include "view/view.h"
#include "watch/wakeups.h"
#include "watch/watch_options.h"

namespace memscope {

// Prints to standard error. Waits for a slow reader, so it is for the time before the first tick.
void warn(const Error& error);

// `nullopt` if nothing is to be printed or the standard stream is closed. With --json a closed stream is an error.
Result<std::optional<LineStream>> open_output(const WatchOptions& options);
// The live view, if the terminal supports it and the options allow it. None with a command, which uses the terminal.
std::optional<View> open_view(const WatchOptions& options, const GrowthSource& growth);

// What the user of a watcher sees: the live view, or lines on standard output, or JSON there. Nothing here waits for a
// reader, except finish().
class Display {
  public:
    // `options` must live as long as the display.
    Display(const WatchOptions& options, std::optional<LineStream> output, std::optional<View> view);

    Status watch_descriptors(Wakeups& wakeups) const;  // asks for Wake::keys, resize and output
    enum class Wish { none, quit };
    Wish on_keys();
    void on_resize() { view_->resized(); }
    void write_rest();  // what standard output and standard error had no room for before

    // The events between two ticks, as lines; with --json the tick itself. `events`: the tick without the deaths that
    // notify_of_death() has shown.
    void print(const Snapshot* before, const Snapshot& tick, const Snapshot& events);
    void redraw(const SnapshotPtr& tick);

    bool shows_events() const { return view_ || prints_events(); }
    void notify(const std::vector<std::string>& lines);
    // In the live view only the first line is shown, which says what happened. All lines are printed when it has
    // closed.
    void notify_of_death(const std::vector<std::string>& lines);
    // If standard error has no room, the message is written later.
    void warn(const Error& error);
    // Before the first tick, so it may wait for standard error.
    void warn_at_start(const Error& error);
    void warn_of_output();  // if standard output cannot be written

    bool has_view() const { return view_.has_value(); }
    bool closed() const { return closed_; }  // standard output has no reader any more
    std::uint64_t skipped() const { return output_ ? output_->skipped() : 0; }  // ticks

    void leave_view();  // restores the terminal, and prints the lines that the view had shown
    // Prints the rest of the last tick, and messages that are left. `at_most`: for both streams together.
    void finish(Seconds at_most);

  private:
    bool prints_events() const { return output_ && !options_->json && !options_->quiet; }
    bool is_status_due();
    void show_in_view(const std::string& line);
    void keep(const std::string& line);

    const WatchOptions* options_;
    std::optional<LineStream> output_;
    std::optional<LineStream> messages_{};  // standard error
    std::optional<View> view_;
    NoticeWriter notices_{};
    std::vector<std::string> kept_{};  // lines to print when the view has closed
    std::uint64_t status_shown_ = 0;   // boot clock
    bool closed_ = false;
};

}  // namespace memscope
