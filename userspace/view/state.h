#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/snapshot.h"

namespace memscope::view {

enum class Sort { size, growth, name, pid };
std::string_view name_of(Sort sort);

// What stands in the place of the tree.
enum class GrowthPanel { off, resident, mapped };

// A row of the tree by what it shows, so that the selection stays on it when rows move.
struct RowId {
    RoleKey role{};
    std::optional<ProcessId> process{};
};
bool same_row(const RowId& a, const RowId& b);  // a process stays itself when its role changes

struct Note {
    double time = 0;  // of the snapshot it came with
    std::string line{};
};

// A death that the user has not confirmed yet.
struct UnseenDeath {
    std::string target{};
    double time = 0;  // seconds since 1970
    pid_t pid = 0;    // of the decisive one
    std::string text{};
    std::size_t others = 0;  // that died at the same time
};

// All that keys change. Nothing here is derived from a snapshot that the next one could not correct (`settle`).
struct State {
    std::string target{};  // by name; empty before the first tick
    std::size_t target_index = 0;

    std::size_t selected_index = 0;
    std::optional<RowId> selected{};  // what the user chose: it is followed when rows move
    std::size_t scroll = 0;

    Sort sort = Sort::size;
    bool by_rank = true;
    std::map<RoleKey, bool> folded{};  // a role that is not in it is unfolded

    std::string filter{};
    bool typing = false;                       // keys go into the filter
    std::map<RoleKey, bool> folded_matches{};  // while a filter stands: all matches show at first

    GrowthPanel growth = GrowthPanel::off;
    std::size_t growth_scroll = 0;

    bool help = false;
    std::size_t help_scroll = 0;
    std::vector<Note> notes{};  // oldest first
    // Of all targets, oldest first. They stay until a key is pressed, also when their target has gone from the screen.
    std::vector<UnseenDeath> deaths{};
};

// The target that is selected; a vanished one gives way to its neighbour. Null where there is none.
const TargetSnapshot* settle_target(State& state, const Snapshot& snapshot);
void select_target(State& state, const Snapshot& snapshot, std::ptrdiff_t step);  // around the end

// Notes stand for a while, on the clock of the snapshots, and the newest few are kept.
void add_note(State& state, double now, std::string line);
void drop_old_notes(State& state, double now);

// The deaths of this tick, teardown left out; the newest few are kept. The same tick may be given twice.
void add_deaths(State& state, const Snapshot& snapshot);

}  // namespace memscope::view
