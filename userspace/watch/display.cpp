#include "watch/display.h"

#include <algorithm>
#include <unistd.h>

#include "outputs/json/tick_json.h"
#include "outputs/text/status_text.h"
#include "watch/clock.h"

namespace memscope {
namespace {

std::string warning(const Error& error) { return "memscope: " + error.message(); }

}  // namespace

void warn(const Error& error) {
    const std::string line = warning(error) + "\n";
    [[maybe_unused]] const auto ignored = ::write(STDERR_FILENO, line.data(), line.size());
}

Result<std::optional<LineStream>> open_output(const WatchOptions& options) {
    if (options.quiet && !options.json) return std::optional<LineStream>{};
    // With a command, standard output is for the command. With --json it is for the ticks, and the command writes
    // elsewhere (JobOutput).
    auto stream = LineStream::open(options.command.empty() || options.json ? STDOUT_FILENO : STDERR_FILENO);
    if (stream) return std::optional<LineStream>(std::move(*stream));
    if (options.json) return stream.error();
    return std::optional<LineStream>{};
}

std::optional<View> open_view(const WatchOptions& options, const GrowthSource& growth) {
    if (options.json || options.quiet || !options.command.empty()) return std::nullopt;
    auto view = View::open(growth);
    return view ? std::optional<View>(std::move(*view)) : std::nullopt;
}

// Opens standard error now, because opening it later fails if no file descriptor is free, and a message may have to say
// exactly that.
Display::Display(const WatchOptions& options, std::optional<LineStream> output, std::optional<View> view)
    : options_(&options), output_(std::move(output)), view_(std::move(view)) {
    if (auto opened = LineStream::open(STDERR_FILENO)) messages_.emplace(std::move(*opened));
}

Status Display::watch_descriptors(Wakeups& wakeups) const {
    if (view_) return wakeups.watch_terminal(view_->input_fd());
    if (output_ && output_->fd() >= 0) return wakeups.watch_output(output_->fd());
    return Done{};
}

Display::Wish Display::on_keys() { return view_->on_input() == View::Wish::quit ? Wish::quit : Wish::none; }

void Display::write_rest() {
    if (output_ && output_->write_rest() == LineStream::Outcome::closed) closed_ = true;
    if (messages_) (void)messages_->write_rest();
}

void Display::print(const Snapshot* before, const Snapshot& tick, const Snapshot& events) {
    if (view_) return notify(notices_.write(before, events));
    // Targets that cannot be watched are an error. If no events are printed, the error is written to standard error.
    if (!prints_events())
        for (const std::string& line : unwatched_targets(before ? &before->self : nullptr, tick.self))
            warn(plain_error(line));
    if (!output_) return;
    std::vector<std::string> lines;
    if (options_->json)
        for (const TargetSnapshot& target : tick.targets) {
            if (target.up || !target.deaths.empty()) lines.push_back(tick_json(tick, target));
        }
    else if (!options_->quiet)
        lines = notices_.write(before, events);
    if (is_status_due())
        for (const TargetSnapshot& target : tick.targets) lines.push_back(status_text(tick, target, false));
    if (lines.empty()) return;
    const auto outcome = options_->json ? output_->write_tick(lines) : output_->write_lines(lines);
    if (outcome == LineStream::Outcome::closed) closed_ = true;
}

bool Display::is_status_due() {
    const std::uint64_t now = read_clock().boot_ns;
    const Seconds passed{static_cast<double>(now - status_shown_) * 1e-9};
    if (!options_->status_every || passed < *options_->status_every) return false;
    status_shown_ = now;
    return true;
}

void Display::redraw(const SnapshotPtr& tick) {
    if (view_) view_->update(tick);
}

void Display::notify(const std::vector<std::string>& lines) {
    if (view_)
        for (const std::string& line : lines) show_in_view(line);
    else if (prints_events() && !lines.empty() && output_->write_lines(lines) == LineStream::Outcome::closed)
        closed_ = true;
}

void Display::notify_of_death(const std::vector<std::string>& lines) {
    if (!view_) return notify(lines);
    view_->note(lines.front());
    for (const std::string& line : lines) keep(line);
}

void Display::warn(const Error& error) {
    if (view_) return show_in_view(warning(error));
    if (messages_) (void)messages_->write_lines({warning(error)});
}

void Display::warn_at_start(const Error& error) {
    if (view_)
        show_in_view(warning(error));
    else
        memscope::warn(error);
}

void Display::warn_of_output() {
    if (!output_) return;
    if (const auto trouble = output_->take_trouble()) warn(*trouble);
}

void Display::show_in_view(const std::string& line) {
    view_->note(line);
    keep(line);
}

void Display::keep(const std::string& line) {
    constexpr std::size_t kMostKept = 100;
    kept_.push_back(line);
    if (kept_.size() > kMostKept) kept_.erase(kept_.begin());
}

void Display::leave_view() {
    view_.reset();
    if (output_ && !kept_.empty()) (void)output_->write_lines(kept_);
    kept_.clear();
}

void Display::finish(Seconds at_most) {
    const Seconds until = boot_time() + at_most;
    if (output_) output_->finish(at_most);
    warn_of_output();
    if (messages_) messages_->finish(std::max(until - boot_time(), Seconds{0}));
}

}  // namespace memscope
