#include "view/columns.h"

#include <algorithm>

namespace memscope::view {
namespace {

struct Rule {
    Column column{};
    int importance = 0;  // 1 stays longest
};

constexpr Rule kRules[] = {
    // in the order they are drawn
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

}  // namespace memscope::view
