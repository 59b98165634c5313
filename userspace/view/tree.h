#pragma once
#include <vector>

#include "model/snapshot.h"
#include "view/history.h"
#include "view/state.h"

namespace memscope::view {

// A role (and rank) of the target with those of its processes that pass the filter, sorted.
struct Group {
    RoleKey key{};
    RoleTotals totals{};      // of all its processes
    RoleCounters counters{};  // of all that ever were
    Rates rates{};
    std::optional<Bytes> gpu{};  // memory of GPUs; none: none is known of
    bool folded = false;
    std::vector<const Process*> processes{};
};

// A row as it stands on the screen: a role, or a process of one that is not folded.
struct Row {
    RowId id{};
    std::size_t group = 0;
    const Process* process = nullptr;
};

// Points into the snapshot it was made from.
struct Tree {
    std::vector<Group> groups{};
    std::vector<Row> rows{};
};

Tree build_tree(const TargetSnapshot& target, const History& history, const State& state);
// Sums the ranks where the state does not tell them apart.
Series own_series(const TargetSnapshot& target, const History& history, const RoleKey& key, bool by_rank);

// Puts the selection on a row that exists and the scroll where it is visible; `page` rows fit the screen.
void settle_rows(State& state, const Tree& tree, std::size_t page);
void select_row(State& state, const Tree& tree, std::size_t index);

bool is_folded(const State& state, const RoleKey& key);
void set_folded(State& state, const RoleKey& key, bool folded);
// A role of many processes is folded when it is first seen that large, and from then on the user decides.
void fold_large_roles(State& state, const TargetSnapshot& target);

}  // namespace memscope::view
