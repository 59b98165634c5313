#include "view/keys.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace memscope::view {
namespace {

using Code = Key::Code;
constexpr std::size_t kLongestFilter = 64;  // bytes

void move_by(State& state, const Tree& tree, std::ptrdiff_t step) {
    if (tree.rows.empty()) return;
    const auto last = static_cast<std::ptrdiff_t>(tree.rows.size()) - 1;
    const auto wanted = static_cast<std::ptrdiff_t>(state.selected_index) + step;
    select_row(state, tree, static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(wanted, 0, last)));
}

const Row* selected(const State& state, const Tree& tree) {
    return state.selected_index < tree.rows.size() ? &tree.rows[state.selected_index] : nullptr;
}

// If a process is selected, folding its role moves the selection to the role.
void fold(State& state, const Tree& tree, bool folded) {
    const Row* row = selected(state, tree);
    if (!row) return;
    set_folded(state, row->id.role, folded);
    state.selected = row->id;
    if (!folded || !row->process) return;
    const auto role =
        std::ranges::find_if(tree.rows, [&](const Row& r) { return r.group == row->group && !r.process; });
    select_row(state, tree, static_cast<std::size_t>(role - tree.rows.begin()));
}

void toggle(State& state, const Tree& tree) {
    if (const Row* row = selected(state, tree)) fold(state, tree, !is_folded(state, row->id.role));
}

void filter_changed(State& state) {
    state.folded_matches.clear();
    state.scroll = 0;
}

Reaction type(State& state, const Key& key) {
    switch (key.code) {
        case Code::character:
            if (state.filter.size() + key.text.size() <= kLongestFilter) state.filter += key.text;
            break;
        case Code::backspace:
            if (state.filter.empty()) state.typing = false;
            while (!state.filter.empty() && (static_cast<unsigned char>(state.filter.back()) & 0xC0U) == 0x80)
                state.filter.pop_back();
            if (!state.filter.empty()) state.filter.pop_back();
            break;
        case Code::enter:
            state.typing = false;
            return Reaction::redraw;
        case Code::escape:
            state.typing = false;
            state.filter.clear();
            break;
        default:
            return Reaction::none;
    }
    filter_changed(state);
    return Reaction::redraw;
}

Reaction read_help(State& state, const Key& key) {
    const bool up = key.code == Code::up || key.text == "k";
    const bool down = key.code == Code::down || key.text == "j";
    if (down)
        ++state.help_scroll;
    else if (up && state.help_scroll > 0)
        --state.help_scroll;
    else if (!up)
        state.help = false;
    return Reaction::redraw;
}

// The growth panel has no selection, so movement keys scroll it. The drawing code corrects a scroll position that is
// too large.
Reaction scroll_growth(State& state, const Key& key, std::size_t page) {
    const bool up = key.code == Code::up || key.text == "k";
    const bool down = key.code == Code::down || key.text == "j";
    const std::size_t step = up || down ? 1 : page;
    if (key.code == Code::home)
        state.growth_scroll = 0;
    else if (key.code == Code::end)
        state.growth_scroll = SIZE_MAX / 2;
    else if (up || key.code == Code::page_up)
        state.growth_scroll -= std::min(state.growth_scroll, step);
    else
        state.growth_scroll += step;
    return Reaction::redraw;
}

GrowthPanel next_plane(GrowthPanel panel) {
    switch (panel) {
        case GrowthPanel::resident:
            return GrowthPanel::mapped;
        case GrowthPanel::mapped:
            return GrowthPanel::tensors_host;
        case GrowthPanel::tensors_host:
            return GrowthPanel::off;
        case GrowthPanel::holders:
        case GrowthPanel::off:
            break;
    }
    return GrowthPanel::resident;
}

Reaction command(State& state, char letter, const Snapshot& snapshot, const Tree& tree) {
    switch (letter) {
        case 'q':
        case 'Q':
            return Reaction::quit;
        case '?':
            state.help = true;
            state.help_scroll = 0;
            break;
        case 'j':
            move_by(state, tree, 1);
            break;
        case 'k':
            move_by(state, tree, -1);
            break;
        case ' ':
            toggle(state, tree);
            break;
        case 'x':
            if (state.deaths.empty() && !state.has_unsharing()) return Reaction::none;
            confirm_seen(state);
            break;
        case 's':
            state.sort = static_cast<Sort>((static_cast<int>(state.sort) + 1) % 4);
            break;
        case 'r':
            state.by_rank = !state.by_rank;
            break;
        case 'g':
            state.growth = next_plane(state.growth);
            state.growth_scroll = 0;
            break;
        case 'h':
            state.growth = state.growth == GrowthPanel::holders ? GrowthPanel::off : GrowthPanel::holders;
            state.growth_scroll = 0;
            break;
        case 't':
            if (state.growth == GrowthPanel::off || state.growth == GrowthPanel::holders) return Reaction::none;
            state.growth_since = static_cast<GrowthSince>((static_cast<int>(state.growth_since) + 1) % 3);
            state.growth_scroll = 0;
            break;
        case '/':
            state.typing = true;
            break;
        case 'n':
            select_target(state, snapshot, 1);
            break;
        case 'p':
            select_target(state, snapshot, -1);
            break;
        default:
            return Reaction::none;
    }
    return Reaction::redraw;
}

// In a replay, space pauses and the arrow keys move in time. In the live view these keys fold roles. Enter folds in
// both.
std::optional<ReplayCommand> replay_command(const Key& key) {
    static constexpr std::pair<std::string_view, ReplayCommand> kLetters[] = {
        {" ", ReplayCommand::pause},      {"<", ReplayCommand::far_back},     {">", ReplayCommand::far_forward},
        {",", ReplayCommand::tick_back},  {".", ReplayCommand::tick_forward}, {"-", ReplayCommand::slower},
        {"+", ReplayCommand::faster},     {"=", ReplayCommand::faster},       {"E", ReplayCommand::previous_event},
        {"e", ReplayCommand::next_event},
    };
    if (key.code == Code::left) return ReplayCommand::back;
    if (key.code == Code::right) return ReplayCommand::forward;
    if (key.code != Code::character) return std::nullopt;
    for (const auto& [letter, command] : kLetters)
        if (key.text == letter) return command;
    return std::nullopt;
}

}  // namespace

Reaction press(State& state, const Key& key, const Snapshot& snapshot, const Scene& scene) {
    if (key.code == Code::repaint) return Reaction::repaint;
    if (key.code == Code::suspend) return Reaction::suspend;
    const auto page = static_cast<std::ptrdiff_t>(std::max<std::size_t>(scene.page, 2)) - 1;
    const auto all = static_cast<std::ptrdiff_t>(scene.tree.rows.size());
    const bool moves =
        key.code >= Code::up && key.code <= Code::end && key.code != Code::left && key.code != Code::right;
    if (state.help && key.text != "q") return read_help(state, key);
    if (state.typing && !moves) return type(state, key);
    if (state.timeline)
        if (const auto asked = replay_command(key)) {
            state.commands.push_back(*asked);
            return Reaction::none;
        }
    if (state.growth != GrowthPanel::off) {
        if (moves || (!state.typing && (key.text == "j" || key.text == "k")))
            return scroll_growth(state, key, static_cast<std::size_t>(page));
        if (key.code == Code::escape) {
            state.growth = GrowthPanel::off;
            return Reaction::redraw;
        }
    }
    switch (key.code) {
        case Code::character:
            return key.text.size() == 1 ? command(state, key.text[0], snapshot, scene.tree) : Reaction::none;
        case Code::up:
            move_by(state, scene.tree, -1);
            break;
        case Code::down:
            move_by(state, scene.tree, 1);
            break;
        case Code::page_up:
            move_by(state, scene.tree, -page);
            break;
        case Code::page_down:
            move_by(state, scene.tree, page);
            break;
        case Code::home:
            move_by(state, scene.tree, -all);
            break;
        case Code::end:
            move_by(state, scene.tree, all);
            break;
        case Code::left:
            fold(state, scene.tree, true);
            break;
        case Code::right:
            fold(state, scene.tree, false);
            break;
        case Code::enter:
            toggle(state, scene.tree);
            break;
        case Code::tab:
            select_target(state, snapshot, 1);
            break;
        case Code::back_tab:
            select_target(state, snapshot, -1);
            break;
        case Code::escape:
            if (state.filter.empty()) return Reaction::none;
            state.filter.clear();
            filter_changed(state);
            break;
        default:
            return Reaction::none;
    }
    return Reaction::redraw;
}

}  // namespace memscope::view
