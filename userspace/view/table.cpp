#include "view/table.h"

#include <algorithm>
#include <fmt/format.h>

#include "outputs/text/gpu_text.h"
#include "outputs/text/process_rows.h"
#include "outputs/text/text_layout.h"
#include "view/compact.h"

namespace memscope::view {
namespace {

struct Rule {
    Column column{};
    int importance = 0;  // the columns with the highest numbers are left out first
};

constexpr Rule kRules[] = {
    // in drawing order
    {{Cell::pid, "PID", 8}, 3},       {{Cell::threads, "THR", 4}, 12},  {{Cell::own, "OWN", 5}, 1},
    {{Cell::inherited, "COW", 5}, 5}, {{Cell::file, "FILE", 5}, 7},     {{Cell::shmem, "SHMEM", 5}, 8},
    {{Cell::rss, "RSS", 5}, 4},       {{Cell::gpu, "GPU", 5}, 2},       {{Cell::growth, "OWN/s", 6}, 2},
    {{Cell::faults, "FLT/s", 5}, 9},  {{Cell::starts, "START", 5}, 10}, {{Cell::exits, "EXIT", 5}, 11},
    {{Cell::trend, "TREND", 10}, 6},
};
constexpr std::size_t kLeastName = 21;  // "▾ dataloader_worker 0"
constexpr std::size_t kGoodName = 44;
constexpr std::size_t kLongTrend = 40;

}  // namespace

Columns fit_columns(std::size_t width, const Present& present) {
    std::vector<Rule> chosen(std::begin(kRules), std::end(kRules));
    std::erase_if(chosen, [&](const Rule& rule) {
        return (rule.column.cell == Cell::gpu && !present.gpu) ||
               (rule.column.cell == Cell::inherited && !present.inherited);
    });
    std::ranges::stable_sort(chosen, {}, &Rule::importance);
    std::size_t taken = 0;
    std::size_t count = 0;
    while (count < chosen.size() && taken + chosen[count].column.width + 1 + kLeastName <= width)
        taken += chosen[count++].column.width + 1;
    Columns result;
    for (const Rule& rule : kRules)
        if (std::any_of(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(count),
                        [&](const Rule& one) { return one.column.cell == rule.column.cell; }))
            result.columns.push_back(rule.column);
    std::size_t spare = width - taken;
    if (!result.columns.empty() && result.columns.back().cell == Cell::trend && spare > kGoodName) {
        Column& trend = result.columns.back();
        const std::size_t more = std::min(spare - kGoodName, kLongTrend - trend.width);
        trend.width += more;
        spare -= more;
    }
    result.name = spare;
    return result;
}

namespace {

struct Text {
    std::string text{};
    Style style = Style::plain;
};

Text quiet(std::string text) {  // "0" and "-" are dim
    const bool nothing = text == "0" || text == "-";
    return {std::move(text), nothing ? Style::dim : Style::plain};
}

Text growth(const Rates& rates) {
    Text text = quiet(compact_change(rates.own));
    if (text.text.starts_with('-')) text.style = Style::dim;
    return text;
}

Text gpu_cell(const std::optional<Bytes>& held) {
    return held ? Text{compact_size(*held), Style::plain} : Text{"-", Style::dim};
}

Text process_cell(Cell cell, const Process& process, const Rates& rates, const TargetSnapshot& target) {
    const auto& memory = process.task.memory;
    const auto size = [&](Bytes AddressSpace::* part) { return quiet(memory ? compact_size((*memory).*part) : "-"); };
    switch (cell) {
        case Cell::pid:
            return {std::to_string(process.task.id.pid), Style::dim};
        case Cell::own:
            return quiet(memory ? compact_size(process.own_anon()) : "-");
        case Cell::inherited:
            return {memory ? compact_size(process.inherited) : "-", Style::dim};
        case Cell::file:
            return size(&AddressSpace::file);
        case Cell::shmem:
            return size(&AddressSpace::shmem);
        case Cell::rss:
            return quiet(memory ? compact_size(resident(process)) : "-");
        case Cell::growth:
            return growth(rates);
        case Cell::faults:
            return quiet(compact_count(rates.faults));
        case Cell::threads:
            return quiet(compact_count(static_cast<double>(process.task.threads)));
        case Cell::gpu:
            return gpu_cell(gpu_memory_of(target, process.task.id.pid));
        case Cell::starts:
        case Cell::exits:
        case Cell::trend:
            break;
    }
    return {};
}

// Number of processes and, if there is room, number of ended processes: "×8 -16".
std::string counts(const Group& group, std::size_t width) {
    std::string living = fmt::format("×{}", group.totals.processes);
    if (group.counters.exits == 0) return living;
    std::string both = living + " -" + compact_count(static_cast<double>(group.counters.exits));
    return display_width(both) <= width ? both : living;
}

Text group_cell(Cell cell, const Group& group, std::size_t width, const TargetSnapshot& target, const History& history,
                const State& state) {
    const auto count = [](std::uint64_t n) { return quiet(compact_count(static_cast<double>(n))); };
    switch (cell) {
        case Cell::pid:
            if (group.processes.size() < group.totals.processes)
                return {fmt::format("{} of {}", group.processes.size(), group.totals.processes), Style::dim};
            return {counts(group, width), Style::dim};
        case Cell::own:
            return quiet(compact_size(group.totals.own_anon()));
        case Cell::inherited:
            return {compact_size(group.totals.inherited), Style::dim};
        case Cell::file:
            return quiet(compact_size(group.totals.file));
        case Cell::shmem:
            return quiet(compact_size(group.totals.shmem));
        case Cell::rss:
            return quiet(compact_size(group.totals.anon + group.totals.file + group.totals.shmem));
        case Cell::growth:
            return growth(group.rates);
        case Cell::faults:
            return quiet(compact_count(group.rates.faults));
        case Cell::starts:
            return count(group.counters.starts);
        case Cell::exits:
            return count(group.counters.exits);
        case Cell::threads:
            return count(group.totals.threads);
        case Cell::gpu:
            return gpu_cell(group.gpu);
        case Cell::trend:
            break;
    }
    return {sparkline(own_series(target, history, group.key, state.by_rank), width), Style::anon};
}

void add_name(Line& line, const Columns& columns, const std::string& before, const std::string& name, Style style) {
    const std::string mark = shortened_to(before, columns.name);
    line.add(mark, Style::dim);
    line.add(left(name, columns.name - display_width(mark)), style);
}

std::string role_name(const RoleKey& key) {
    std::string name(name_of(key.role));
    if (key.rank) name += fmt::format(" {}", *key.rank);
    return name;
}

Sort sort_of(Cell cell) {
    switch (cell) {
        case Cell::pid:
            return Sort::pid;
        case Cell::growth:
            return Sort::growth;
        case Cell::own:
            return Sort::size;
        default:
            return Sort::name;  // Sort::name belongs to the first column, which has no Cell
    }
}

}  // namespace

Line table_header(const Columns& columns, const State& state) {
    const auto style = [&](bool sorted) { return sorted ? Style::bold : Style::dim; };
    Line line;
    line.add(left(" ROLE / PROCESS", columns.name), style(state.sort == Sort::name));
    for (const Column& column : columns.columns) {
        const bool sorted = sort_of(column.cell) == state.sort && state.sort != Sort::name;
        const std::string title(column.title);
        line.add(" ").add(column.cell == Cell::trend ? left(title, column.width) : right(title, column.width),
                          style(sorted));
    }
    return line;
}

Line table_row(const Columns& columns, const Tree& tree, const Row& row, const TargetSnapshot& target,
               const History& history, const State& state) {
    const Group& group = tree.groups[row.group];
    const bool empty = group.totals.processes == 0;
    Line line;
    const Rates rates = row.process ? history.rates(row.process->task.id) : Rates{};
    if (row.process)
        add_name(line, columns, "   ", title_of(*row.process, columns.name > 3 ? columns.name - 3 : 0), Style::plain);
    else
        add_name(line, columns,
                 empty          ? "  "
                 : group.folded ? "▸ "
                                : "▾ ",
                 role_name(group.key), empty ? Style::dim : Style::bold);
    for (const Column& column : columns.columns) {
        const Text text = row.process ? process_cell(column.cell, *row.process, rates, target)
                                      : group_cell(column.cell, group, column.width, target, history, state);
        line.add(" ").add(right(text.text, column.width), text.style);
    }
    return line;
}

}  // namespace memscope::view
