#include "view/view.h"

#include <unistd.h>

#include "view/keys.h"

namespace memscope {
namespace {

constexpr int kMostKeys = 256;  // of one call: a pasted file does not hold up the ticks

}  // namespace

Result<View> View::open() {
    auto terminal = view::Terminal::open(STDIN_FILENO, STDOUT_FILENO);
    if (!terminal) return terminal.error();
    return View(std::move(*terminal));
}

void View::update(SnapshotPtr snapshot) {
    history_.add(*snapshot);
    for (std::string& line : new_notes_) view::add_note(state_, snapshot->time, std::move(line));
    new_notes_.clear();
    snapshot_.swap(snapshot);  // the old one goes after the scene that points into it is replaced
    redraw();
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
                settle();  // the next key acts on what this one made
                changed = true;
                break;
        }
    }
    if (changed) redraw();
    return terminal_->hung_up() ? Wish::quit : Wish::none;
}

void View::note(const std::string& line) { new_notes_.push_back(line); }

void View::settle() { scene_ = view::render(state_, *snapshot_, history_, terminal_->look()); }

void View::redraw() {
    settle();
    terminal_->draw(scene_.lines);
}

}  // namespace memscope
