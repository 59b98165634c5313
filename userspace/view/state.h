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
};

// The target that is selected; a vanished one gives way to its neighbour. Null where there is none.
const TargetSnapshot* settle_target(State& state, const Snapshot& snapshot);
void select_target(State& state, const Snapshot& snapshot, std::ptrdiff_t step);  // around the end

// Notes stand for a while, on the clock of the snapshots, and the newest few are kept.
void add_note(State& state, double now, std::string line);
void drop_old_notes(State& state, double now);

}  // namespace memscope::view
