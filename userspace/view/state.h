#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/growth/growth_request.h"
#include "model/snapshot.h"
#include "view/timeline.h"

namespace memscope::view {

enum class Sort { size, growth, name, pid };
std::string_view name_of(Sort sort);

// The panel that replaces the tree.
enum class GrowthPanel { off, resident, mapped, tensors_host, holders };
// The time from which on the panel shows growth. `warmup`: the end of the warm-up, or the beginning of watching if no
// warm-up has ended.
enum class GrowthSince { warmup, minutes, start };

// Identifies a row of the tree by its content, so that the selection stays on it when rows move.
struct RowId {
    RoleKey role{};
    std::optional<ProcessId> process{};
};
bool same_row(const RowId& a, const RowId& b);  // a process stays the same row when its role changes

struct Note {
    double time = 0;  // time of its snapshot
    std::string line{};
};

// A death that the user has not confirmed yet.
struct UnseenDeath {
    std::string target{};
    double time = 0;  // seconds since 1970
    pid_t pid = 0;    // of the decisive death
    std::string text{};
    std::size_t others = 0;  // number of other processes that died at the same time
};

// Copy-on-write un-sharing of a target. It is shown until the user confirms it, even if it has ended.
struct UnseenUnsharing {
    std::string text{};
    bool confirmed = false;
};

// Everything that keys can change. `settle_target` and `settle_rows` adapt the members that refer to a snapshot to the
// next snapshot.
struct State {
    std::string target{};  // by name; empty before the first tick
    std::size_t target_index = 0;

    std::size_t selected_index = 0;
    std::optional<RowId> selected{};  // the row that the user chose; stays selected when rows move
    std::size_t scroll = 0;

    Sort sort = Sort::size;
    bool by_rank = true;
    std::map<RoleKey, bool> folded{};  // a role without an entry is unfolded

    std::string filter{};
    bool typing = false;                       // keys go into the filter
    std::map<RoleKey, bool> folded_matches{};  // while a filter is set; at first all matches are unfolded

    GrowthPanel growth = GrowthPanel::off;
    GrowthSince growth_since = GrowthSince::warmup;
    std::size_t growth_scroll = 0;

    bool help = false;
    std::size_t help_scroll = 0;
    std::vector<Note> notes{};  // oldest first
    // Deaths of all targets, oldest first. They stay until the user presses x, even if their target is not shown any
    // more.
    std::vector<UnseenDeath> deaths{};
    std::map<std::string, UnseenUnsharing> unsharing{};  // by target
    bool has_unsharing() const;                          // of the selected target, not confirmed yet

    // Only in a replay.
    std::optional<Timeline> timeline{};
    std::vector<ReplayCommand> commands{};  // of pressed keys, oldest first
};

// The selected target. If it is gone, its neighbour is selected. Null if there is no target.
const TargetSnapshot* settle_target(State& state, const Snapshot& snapshot);
void select_target(State& state, const Snapshot& snapshot, std::ptrdiff_t step);  // wraps around at the end of the list

GrowthRequest growth_request(const State& state);

// Notes are shown for 15 s, by the times of the snapshots. Only the newest 20 are kept.
void add_note(State& state, double now, std::string line);
void drop_old_notes(State& state, double now);

// Adds the deaths of this tick without teardown. Only the newest 20 are kept. The same tick may be passed twice.
void add_deaths(State& state, const Snapshot& snapshot);

// Stores the explanations of un-sharing of this tick. Forgets targets that do not exist any more.
void add_unsharing(State& state, const Snapshot& snapshot);
void confirm_seen(State& state);  // deaths, and un-sharing of all targets

}  // namespace memscope::view
