#include "view/tree.h"

#include <algorithm>

#include "outputs/text/gpu_text.h"
#include "outputs/text/process_rows.h"

namespace memscope::view {
namespace {

constexpr std::size_t kUnfolded = 8;  // a role with more processes is folded at first
constexpr std::size_t kMostFolds = 4096;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool contains(std::string_view text, std::string_view part) {
    return !std::ranges::search(text, part, {}, lower, lower).empty() || part.empty();
}

bool passes(const Process& process, const std::string& filter) {
    return contains(process.task.comm, filter) || contains(process.command_text(), filter);
}

RoleKey key_of(Role role, std::optional<int> rank, const State& state) {
    return {role, state.by_rank ? rank : std::nullopt};
}

std::optional<double> plus(std::optional<double> a, std::optional<double> b) {
    if (!a || !b) return a ? a : b;
    return *a + *b;
}

using Groups = std::map<RoleKey, Group>;

Groups group_roles(const TargetSnapshot& target, const History& history, const State& state) {
    Groups groups;
    const auto group = [&](const RoleKey& role) -> Group& {
        const RoleKey key = key_of(role.role, role.rank, state);
        Group& found = groups[key];
        found.key = key;
        return found;
    };
    for (const auto& [role, totals] : target.roles) {
        RoleTotals& sum = group(role).totals;
        sum.anon += totals.anon;
        sum.file += totals.file;
        sum.shmem += totals.shmem;
        sum.swap += totals.swap;
        sum.inherited += totals.inherited;
        sum.processes += totals.processes;
        sum.threads += totals.threads;
    }
    for (const auto& [role, totals] : target.roles)
        if (const auto held = gpu_memory_of(target, role)) {
            Group& one = group(role);
            one.gpu = one.gpu.value_or(Bytes{}) + *held;
        }
    for (const auto& [role, counters] : target.counters) {
        Group& one = group(role);
        one.counters.starts += counters.starts;
        one.counters.exits += counters.exits;
        const Rates rates = history.rates(target.info.name, role);
        one.rates = {plus(one.rates.own, rates.own), plus(one.rates.faults, rates.faults)};
    }
    return groups;
}

// Computes the sort key of each process once, not in each comparison.
struct Ranked {
    const Process* process = nullptr;
    double weight = 0;
};

void sort_processes(std::vector<const Process*>& processes, const History& history, Sort sort) {
    if (sort == Sort::pid) return;  // processes of a snapshot are sorted by pid
    if (sort == Sort::name) {
        std::ranges::stable_sort(processes, [](const Process* a, const Process* b) {
            if (a->task.comm != b->task.comm) return a->task.comm < b->task.comm;
            return a->command_text() < b->command_text();
        });
        return;
    }
    std::vector<Ranked> ranked;
    ranked.reserve(processes.size());
    for (const Process* process : processes)
        ranked.push_back({process, sort == Sort::size ? static_cast<double>(held(*process).n)
                                                      : history.rates(process->task.id).own.value_or(-1e300)});
    std::ranges::stable_sort(ranked, [](const Ranked& a, const Ranked& b) { return a.weight > b.weight; });
    std::ranges::transform(ranked, processes.begin(), &Ranked::process);
}

void sort_groups(std::vector<Group>& groups, Sort sort) {
    const auto size = [](const Group& g) { return held(g.totals); };
    const auto growth = [](const Group& g) { return g.rates.own.value_or(-1e300); };
    const auto first_pid = [](const Group& g) { return g.processes.empty() ? 0 : g.processes[0]->task.id.pid; };
    std::ranges::stable_sort(groups, [&](const Group& a, const Group& b) {
        switch (sort) {
            case Sort::size:
                return size(a) > size(b);
            case Sort::growth:
                return growth(a) > growth(b);
            case Sort::name:
                return name_of(a.key.role) < name_of(b.key.role);
            case Sort::pid:
                break;
        }
        return first_pid(a) < first_pid(b);
    });
}

}  // namespace

bool is_folded(const State& state, const RoleKey& key) {
    const auto& folds = state.filter.empty() ? state.folded : state.folded_matches;
    const auto found = folds.find(key);
    return found != folds.end() && found->second;
}

void set_folded(State& state, const RoleKey& key, bool folded) {
    auto& folds = state.filter.empty() ? state.folded : state.folded_matches;
    if (folds.size() >= kMostFolds) folds.clear();
    folds[key] = folded;
}

void fold_large_roles(State& state, const TargetSnapshot& target) {
    std::map<RoleKey, std::uint64_t> sizes;
    for (const auto& [role, totals] : target.roles) sizes[key_of(role.role, role.rank, state)] += totals.processes;
    for (const auto& [key, size] : sizes)
        if (size > kUnfolded && state.folded.size() < kMostFolds) state.folded.try_emplace(key, true);
}

Tree build_tree(const TargetSnapshot& target, const History& history, const State& state) {
    Groups groups = group_roles(target, history, state);
    const auto role_passes = [&](Role role) { return contains(name_of(role), state.filter); };
    for (const Process& process : target.processes)
        if (role_passes(process.role) || passes(process, state.filter)) {
            const RoleKey key = key_of(process.role, process.rank, state);
            Group& group = groups[key];
            group.key = key;
            group.processes.push_back(&process);
        }
    Tree tree;
    for (auto& [key, group] : groups) {
        if (group.processes.empty() && !role_passes(key.role)) continue;
        group.folded = is_folded(state, key);
        if (!group.folded) sort_processes(group.processes, history, state.sort);
        tree.groups.push_back(std::move(group));
    }
    sort_groups(tree.groups, state.sort);
    for (std::size_t i = 0; i < tree.groups.size(); ++i) {
        const Group& group = tree.groups[i];
        tree.rows.push_back({{group.key, std::nullopt}, i, nullptr});
        if (group.folded) continue;
        for (const Process* process : group.processes) tree.rows.push_back({{group.key, process->task.id}, i, process});
    }
    return tree;
}

Series own_series(const TargetSnapshot& target, const History& history, const RoleKey& key, bool by_rank) {
    if (by_rank) return history.own(target.info.name, key);
    Series sum;
    for (const auto& [role, counters] : target.counters) {
        if (role.role != key.role) continue;
        const Series one = history.own(target.info.name, role);
        const std::size_t longer = std::max(sum.values.size(), one.values.size());
        sum.values.insert(sum.values.begin(), longer - sum.values.size(), 0);  // series end at the same tick
        for (std::size_t i = 0; i < one.values.size(); ++i) sum.values[longer - one.values.size() + i] += one.values[i];
        sum.last_tick = std::max(sum.last_tick, one.last_tick);
    }
    return sum;
}

void select_row(State& state, const Tree& tree, std::size_t index) {
    if (tree.rows.empty()) return;
    state.selected_index = std::min(index, tree.rows.size() - 1);
    state.selected = tree.rows[state.selected_index].id;
}

void settle_rows(State& state, const Tree& tree, std::size_t page) {
    if (tree.rows.empty()) {
        state.selected_index = state.scroll = 0;
        return;
    }
    state.selected_index = std::min(state.selected_index, tree.rows.size() - 1);
    if (state.selected) {
        const auto found =
            std::ranges::find_if(tree.rows, [&](const Row& row) { return same_row(row.id, *state.selected); });
        if (found != tree.rows.end()) state.selected_index = static_cast<std::size_t>(found - tree.rows.begin());
        state.selected = tree.rows[state.selected_index].id;
    }
    const std::size_t shown = std::max<std::size_t>(page, 1);
    if (state.selected_index < state.scroll) state.scroll = state.selected_index;
    if (state.selected_index >= state.scroll + shown) state.scroll = state.selected_index - shown + 1;
    state.scroll = std::min(state.scroll, tree.rows.size() - std::min(tree.rows.size(), shown));
}

}  // namespace memscope::view
