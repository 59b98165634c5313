#include "view/view.h"

#include <algorithm>
#include <functional>
#include <unistd.h>

#include "view/keys.h"

namespace memscope {
namespace {

constexpr int kMostKeys = 256;  // per call, so that a pasted file does not delay the ticks

// Targets that have ended stay in the snapshot for scrapes. The screen leaves them out while other targets are up.
SnapshotPtr living(const SnapshotPtr& snapshot) {
    const auto is_up = [](const TargetSnapshot& target) { return target.up; };
    if (std::ranges::none_of(snapshot->targets, is_up) || std::ranges::all_of(snapshot->targets, is_up))
        return snapshot;
    Snapshot without_ended = *snapshot;
    std::erase_if(without_ended.targets, std::not_fn(is_up));
    return std::make_shared<const Snapshot>(std::move(without_ended));
}

}  // namespace

Result<View> View::open(GrowthSource growth) {
    auto terminal = view::Terminal::open(STDIN_FILENO, STDOUT_FILENO);
    if (!terminal) return terminal.error();
    return View(std::move(*terminal), std::move(growth));
}

void View::update(const SnapshotPtr& latest) {
    add_past(latest);
    SnapshotPtr snapshot = living(latest);
    for (std::string& line : new_notes_) view::add_note(state_, snapshot->time, std::move(line));
    new_notes_.clear();
    snapshot_.swap(snapshot);  // frees the old snapshot after the scene that points into it is replaced
    growth_.reset();
    redraw();
}

void View::add_past(const SnapshotPtr& tick) {
    view::add_deaths(state_, *tick);  // before ended targets are left out, because a death may have ended its target
    view::add_unsharing(state_, *living(tick));
    history_.add(*living(tick));
}

void View::forget_past(double since) {
    history_ = view::History(since);
    state_.deaths.clear();
    state_.unsharing.clear();
    state_.notes.clear();
    new_notes_.clear();
}

void View::begin_curve(const std::string& target, view::TargetCurve curve) {
    history_.begin_curve(target, std::move(curve));
}

View::Wish View::on_input() {
    bool changed = false;
    for (int i = 0; i < kMostKeys; ++i) {
        const auto key = terminal_->read_key();
        if (!key) break;
        switch (view::press(state_, *key, *snapshot_, scene_)) {
            case view::Reaction::none:
                break;
            case view::Reaction::quit:
                return Wish::quit;
            case view::Reaction::suspend:
                terminal_->suspend();
                changed = true;
                break;
            case view::Reaction::repaint:
                terminal_->repaint();
                changed = true;
                break;
            case view::Reaction::redraw:
                settle();  // the next key acts on the result of this one
                changed = true;
                break;
        }
    }
    if (changed) redraw();
    return terminal_->hung_up() ? Wish::quit : Wish::none;
}

void View::note(const std::string& line) { new_notes_.push_back(line); }

// Calls the source at most once per tick and target, because it computes the growth again at each call.
void View::ask_for_growth() {
    const bool shown = state_.growth != view::GrowthPanel::off && state_.growth != view::GrowthPanel::holders;
    if (!shown) growth_.reset();
    if (!shown || !growth_source_) return;
    const GrowthRequest wanted = view::growth_request(state_);
    if (growth_ && growth_target_ == state_.target && growth_request_ == wanted) return;
    growth_ = growth_source_(state_.target, wanted).value_or(Growth{});
    growth_target_ = state_.target;
    growth_request_ = wanted;
}

void View::settle() {
    (void)view::settle_target(state_, *snapshot_);
    ask_for_growth();
    scene_ = view::render(state_, *snapshot_, history_, terminal_->look(), growth_ ? &*growth_ : nullptr);
}

void View::redraw() {
    settle();
    terminal_->draw(scene_.lines);
}

}  // namespace memscope
