#include "view/state.h"

#include <algorithm>
#include <iterator>

#include "analysis/deaths/death_moment.h"
#include "outputs/deaths/death_text.h"

namespace memscope::view {
namespace {

constexpr double kNoteShownFor = 15;  // seconds
constexpr std::size_t kMostNotes = 20;
constexpr std::ptrdiff_t kMostDeaths = 20;

void take_target(State& state, const Snapshot& snapshot, std::size_t index) {
    state.target_index = index;
    state.target = snapshot.targets[index].info.name;
    state.selected.reset();
    state.selected_index = state.scroll = 0;
}

}  // namespace

std::string_view name_of(Sort sort) {
    constexpr std::string_view kNames[] = {"size", "growth", "name", "pid"};
    return kNames[static_cast<std::size_t>(sort)];
}

bool same_row(const RowId& a, const RowId& b) {
    if (a.process || b.process) return a.process == b.process;
    return a.role == b.role;
}

const TargetSnapshot* settle_target(State& state, const Snapshot& snapshot) {
    const auto& targets = snapshot.targets;
    if (targets.empty()) return nullptr;  // the name is kept: the target may come back
    const auto found = std::ranges::find_if(targets, [&](const auto& t) { return t.info.name == state.target; });
    if (found != targets.end())
        state.target_index = static_cast<std::size_t>(found - targets.begin());
    else
        take_target(state, snapshot, std::min(state.target_index, targets.size() - 1));
    return &targets[state.target_index];
}

void select_target(State& state, const Snapshot& snapshot, std::ptrdiff_t step) {
    if (!settle_target(state, snapshot)) return;
    const auto count = static_cast<std::ptrdiff_t>(snapshot.targets.size());
    const auto next = (static_cast<std::ptrdiff_t>(state.target_index) + step % count + count) % count;
    if (static_cast<std::size_t>(next) != state.target_index)
        take_target(state, snapshot, static_cast<std::size_t>(next));
}

GrowthRequest growth_request(const State& state) {
    using Since = GrowthRequest::Since;
    switch (state.growth_since) {
        case GrowthSince::warmup:
            return {.since = Since::warmup};
        case GrowthSince::minutes:
            return {.since = Since::ago, .ago = std::chrono::minutes(10)};
        case GrowthSince::start:
            break;
    }
    return {.since = Since::start};
}

void add_note(State& state, double now, std::string line) {
    state.notes.push_back({now, std::move(line)});
    if (state.notes.size() > kMostNotes) state.notes.erase(state.notes.begin());
}

void drop_old_notes(State& state, double now) {
    std::erase_if(state.notes, [&](const Note& note) { return now < note.time || now - note.time > kNoteShownFor; });
}

void add_deaths(State& state, const Snapshot& snapshot) {
    for (const DeathMoment& moment : death_moments(snapshot)) {
        if (!moment.is_news()) continue;
        const Death& decisive = moment.deaths.front();
        const auto known = [&](const UnseenDeath& each) {
            return each.target == moment.target && each.time == decisive.time && each.pid == decisive.id.pid;
        };
        if (std::ranges::any_of(state.deaths, known)) continue;
        state.deaths.push_back(
            {moment.target, decisive.time, decisive.id.pid, death_text(decisive), moment.deaths.size() - 1});
    }
    if (std::ssize(state.deaths) > kMostDeaths)
        state.deaths.erase(state.deaths.begin(), state.deaths.end() - kMostDeaths);
}

bool State::has_unsharing() const {
    const auto found = unsharing.find(target);
    return found != unsharing.end() && !found->second.confirmed;
}

void add_unsharing(State& state, const Snapshot& snapshot) {
    std::map<std::string, UnseenUnsharing> next;
    for (const TargetSnapshot& target : snapshot.targets) {
        const auto known = state.unsharing.find(target.info.name);
        const std::string& said = target.sharing.explanation;
        if (known == state.unsharing.end() && said.empty()) continue;
        UnseenUnsharing one = known == state.unsharing.end() ? UnseenUnsharing{} : known->second;
        if (one.confirmed && said.empty()) continue;  // a later explanation is shown as new
        if (!said.empty()) one.text = said;
        next.emplace(target.info.name, std::move(one));
    }
    for (const std::string& name : snapshot.unread)
        if (auto known = state.unsharing.extract(name)) next.insert(std::move(known));
    state.unsharing = std::move(next);
}

void confirm_seen(State& state) {
    state.deaths.clear();
    for (auto& [target, one] : state.unsharing) one.confirmed = true;
}

}  // namespace memscope::view
