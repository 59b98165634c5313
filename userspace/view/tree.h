#pragma once
#include <vector>

#include "model/snapshot.h"
#include "view/history.h"
#include "view/state.h"

namespace memscope::view {

// A role (and rank) of the target with its processes that match the filter, sorted.
struct Group {
    RoleKey key{};
    RoleTotals totals{};      // of all its processes
    RoleCounters counters{};  // ended processes included
    Rates rates{};
    std::optional<Bytes> gpu{};  // memory on GPUs; nullopt: not known
    bool folded = false;
    std::vector<const Process*> processes{};
};

// A row of the screen: a role, or a process of a role that is not folded.
struct Row {
    RowId id{};
    std::size_t group = 0;
    const Process* process = nullptr;
};

// Points into the snapshot that it was built from.
struct Tree {
    std::vector<Group> groups{};
    std::vector<Row> rows{};
};

Tree build_tree(const TargetSnapshot& target, const History& history, const State& state);
// Sums the ranks of the role if `by_rank` is false.
Series own_series(const TargetSnapshot& target, const History& history, const RoleKey& key, bool by_rank);

// Moves the selection to an existing row and scrolls so that it is visible. `page`: number of rows that fit.
void settle_rows(State& state, const Tree& tree, std::size_t page);
void select_row(State& state, const Tree& tree, std::size_t index);

bool is_folded(const State& state, const RoleKey& key);
void set_folded(State& state, const RoleKey& key, bool folded);
// Folds a role when it has many processes for the first time. After that only the user folds or unfolds it.
void fold_large_roles(State& state, const TargetSnapshot& target);

}  // namespace memscope::view
