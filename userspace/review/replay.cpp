#include "review/replay.h"

#include <algorithm>

namespace memscope {
namespace {

// More ticks at once than this are a jump: at a high speed not every tick can be drawn.
constexpr std::size_t kMostAtOnce = Replay::kPast;

std::size_t first_past(std::size_t index) {
    const std::size_t first = index - std::min(index, Replay::kPast);
    return first - first % Replay::kAligned;
}

}  // namespace

bool is_notable(const RecordedEvent& event) {
    static constexpr std::string_view kKinds[] = {"verdict", "precursor", "action", "death"};
    return std::ranges::find(kKinds, event.kind) != std::end(kKinds);
}

Result<Replay> Replay::open(Recording recording, RecordedTarget target) {
    Replay replay(std::move(recording), std::move(target));
    if (auto read = replay.read_index(); !read) return read.error();
    replay.clock_ = replay.ticks_.front().at;
    return replay;
}

Status Replay::read_index() {
    auto ticks = recording_.tick_index(target_);
    if (!ticks) return ticks.error();
    if (ticks->empty()) return plain_error(recording_.path().string() + " has no tick of the target");
    auto events = recording_.events(target_);
    if (!events) return events.error();
    ticks_ = *std::move(ticks);
    events_ = *std::move(events);
    // A file that is not trusted may have ticks and events in any order.
    std::ranges::stable_sort(ticks_, {}, &RecordedMoment::at);
    std::ranges::stable_sort(events_, {}, &RecordedEvent::at);
    return Done{};
}

Result<std::vector<SnapshotPtr>> Replay::read_ticks(std::size_t first) {
    std::vector<SnapshotPtr> ticks;
    for (std::size_t i = first; i <= index_; ++i) {
        auto tick = recording_.tick(target_, ticks_[i].id);
        if (!tick) return tick.error();
        ticks.push_back(std::make_shared<const Snapshot>(*std::move(tick)));
    }
    return ticks;
}

void Replay::pause(bool paused) {
    if (!paused && at_end()) return;
    paused_ = paused;
}

void Replay::set_speed(double speed) { speed_ = std::clamp(speed, kSlowest, kFastest); }

// The tick that is shown is the last one at or before the clock.
void Replay::move_clock(Seconds clock) {
    clock_ = std::clamp(clock, ticks_.front().at, ticks_.back().at);
    const auto after = std::ranges::upper_bound(ticks_, clock_, {}, &RecordedMoment::at);
    index_ = static_cast<std::size_t>(after - ticks_.begin()) - 1;
}

void Replay::advance(Seconds passed) {
    if (paused_ || passed <= Seconds{}) return;
    move_clock(clock_ + passed * speed_);
    if (at_end()) paused_ = true;
}

std::optional<Seconds> Replay::until_next() const {
    if (paused_ || at_end()) return std::nullopt;
    return std::max(Seconds{}, (ticks_[index_ + 1].at - clock_) / speed_);
}

void Replay::move_to(Seconds position) {
    const std::size_t before = index_;
    move_clock(position);
    jumped_ = jumped_ || index_ != before;
}

void Replay::move_by(std::ptrdiff_t ticks) {
    const auto last = static_cast<std::ptrdiff_t>(ticks_.size()) - 1;
    const auto wanted = std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(index_) + ticks, 0, last);
    const bool next = wanted == static_cast<std::ptrdiff_t>(index_) + 1;
    index_ = static_cast<std::size_t>(wanted);
    clock_ = ticks_[index_].at;
    jumped_ = jumped_ || !next;
    paused_ = true;
}

void Replay::to_next_event() {
    const Seconds now = position();
    const auto next =
        std::ranges::find_if(events_, [now](const RecordedEvent& e) { return e.at > now && is_notable(e); });
    if (next == events_.end()) return;
    move_to(next->at);
    // An event between two ticks shows in the later one.
    if (position() < next->at && !at_end()) move_to(ticks_[index_ + 1].at);
}

void Replay::to_previous_event() {
    const Seconds now = position();
    const auto is_before = [now](const RecordedEvent& e) { return e.at < now && is_notable(e); };
    // An event between this tick and the one before it is shown now.
    const Seconds shown_from = index_ > 0 ? ticks_[index_ - 1].at : ticks_.front().at;
    const auto found = std::find_if(events_.rbegin(), events_.rend(),
                                    [&](const RecordedEvent& e) { return is_before(e) && e.at <= shown_from; });
    if (found == events_.rend()) return;
    move_to(found->at);
    if (position() < found->at && !at_end()) move_to(ticks_[index_ + 1].at);
}

Status Replay::read_earlier(Frame& frame) {
    if (frame.ticks.empty()) return Done{};
    const double first = frame.ticks.front()->time;
    for (const RecordedEvent& event : events_)
        if (event.kind == "death" && event.time < first) frame.earlier_deaths.push_back(event.time);
    return recording_.each_sample(target_, {}, [&](const RecordedSample& sample) {
        if (sample.time >= first) return false;
        frame.earlier.push_back({sample.time, sample.bytes});
        return true;
    });
}

Result<Replay::Frame> Replay::take_frame() {
    Frame frame;
    if (shown_ == index_ && !jumped_) return frame;
    const bool follows = shown_ && !jumped_ && *shown_ < index_ && index_ - *shown_ <= kMostAtOnce;
    frame.jumped = !follows;
    const std::size_t first = follows ? *shown_ + 1 : first_past(index_);
    auto ticks = read_ticks(first);
    if (!ticks) {
        // A watcher that still writes the recording removes old ticks.
        if (auto read = read_index(); !read) return read.error();
        move_clock(clock_);
        frame.jumped = true;
        ticks = read_ticks(first_past(index_));
        if (!ticks) return ticks.error();
    }
    frame.ticks = *std::move(ticks);
    if (frame.jumped)
        if (auto read = read_earlier(frame); !read) return read.error();
    const Seconds to = position();
    const Seconds noted_from = !frame.jumped ? ticks_[*shown_].at : (index_ > 0 ? ticks_[index_ - 1].at : Seconds{-1});
    for (const RecordedEvent& event : events_) {
        if (event.at <= noted_from || event.at > to) continue;
        if (event.kind == "notice") frame.notes.push_back(target_.info.name + ": " + event.text);
        if (event.kind == "action") frame.notes.push_back(event.text);
    }
    shown_ = index_;
    jumped_ = false;
    return frame;
}

std::optional<Growth> Replay::growth() {
    auto growth = recording_.growth_at(target_, position());
    return growth ? *std::move(growth) : std::nullopt;
}

}  // namespace memscope
