#include "web/columns.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace memscope::web {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr Columns::Cell kNoCell{kNone, kNone, kNone};

bool has_value(const Columns::Cell& cell) { return !std::isnan(cell.low); }

// The weighted mean of cells. Ranges have no weight: the middle of a range counts only if there is no tick.
class Mean {
  public:
    void add(double mean, std::uint32_t weight) {
        (weight > 0 ? sum_ : middles_) += mean * (weight > 0 ? weight : 1);
        (weight > 0 ? weight_ : ranges_) += weight > 0 ? weight : 1;
    }
    double value() const { return weight_ > 0 ? sum_ / weight_ : middles_ / ranges_; }

  private:
    double sum_ = 0;
    double weight_ = 0;
    double middles_ = 0;
    double ranges_ = 0;
};

struct Sum {
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();
    Mean mean{};
    bool any = false;

    void add(const Columns::Cell& cell, std::uint32_t weight) {
        if (!has_value(cell)) return;
        low = std::min(low, cell.low);
        high = std::max(high, cell.high);
        mean.add(cell.mean, weight);
        any = true;
    }
    Columns::Cell cell() const { return any ? Columns::Cell{low, high, mean.value()} : kNoCell; }
};

}  // namespace

std::optional<std::size_t> Columns::find_or_add(const SeriesName& name) {
    if (const auto found = numbers_.find(name.id); found != numbers_.end()) return found->second;
    if (names_.size() >= kMostSeries) return std::nullopt;
    numbers_[name.id] = names_.size();
    names_.push_back(name);
    cells_.emplace_back();
    return names_.size() - 1;
}

void Columns::put(std::size_t series, std::size_t row, const Cell& cell) {
    std::vector<Cell>& column = cells_[series];
    column.resize(std::max(column.size(), row + 1), kNoCell);
    column[row] = cell;
}

void Columns::add(double time, std::span<const Value> values) {
    if (times_.size() * std::max<std::size_t>(names_.size(), 1) >= most_cells_) merge_neighbours();
    const std::size_t row = times_.size();
    times_.push_back(time);
    weights_.push_back(1);
    for (const Value& value : values) put(value.series, row, value.cell);
}

void Columns::add_ranges(std::size_t series, double began, const std::vector<RecordedBin>& ranges, Seconds width) {
    sort_rows();
    const std::size_t ticks = times_.size();  // rows that are added below come after these
    for (const RecordedBin& range : ranges) {
        const double from = began + range.at.count(), to = from + width.count();
        const auto low = static_cast<double>(range.low.n), high = static_cast<double>(range.high.n);
        const auto end = times_.begin() + static_cast<std::ptrdiff_t>(ticks);
        Sum known;
        for (auto time = std::lower_bound(times_.begin(), end, from); time != end && *time < to; ++time) {
            const auto row = static_cast<std::size_t>(time - times_.begin());
            if (row < cells_[series].size()) known.add(cells_[series][row], 1);
        }
        if (known.any && known.low <= low && known.high >= high) continue;
        if (times_.size() * std::max<std::size_t>(names_.size(), 1) >= 2 * most_cells_) break;
        times_.push_back(from + width.count() / 2);
        weights_.push_back(0);
        put(series, times_.size() - 1, {low, high, (low + high) / 2});
    }
    if (times_.size() * std::max<std::size_t>(names_.size(), 1) >= most_cells_) merge_neighbours();
}

void Columns::sort_rows() {
    if (std::ranges::is_sorted(times_)) return;
    std::vector<std::size_t> order(times_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [this](std::size_t row) { return times_[row]; });
    const auto arrange = [&](auto& column, const auto& absent) {
        auto sorted = column;
        sorted.resize(order.size(), absent);
        for (std::size_t i = 0; i < order.size(); ++i) sorted[i] = order[i] < column.size() ? column[order[i]] : absent;
        column = std::move(sorted);
    };
    arrange(weights_, std::uint32_t{0});
    for (std::vector<Cell>& column : cells_) arrange(column, kNoCell);
    arrange(times_, 0.0);
}

void Columns::merge_neighbours() {
    sort_rows();
    const std::size_t half = (times_.size() + 1) / 2;
    for (std::vector<Cell>& column : cells_) {
        std::vector<Cell> merged;
        merged.reserve(half);
        for (std::size_t row = 0; row < column.size(); row += 2) {
            Sum sum;
            sum.add(column[row], weights_[row]);
            if (row + 1 < column.size()) sum.add(column[row + 1], weights_[row + 1]);
            merged.push_back(sum.cell());
        }
        column = std::move(merged);
    }
    for (std::size_t row = 0; row < half; ++row) {
        times_[row] = times_[2 * row];
        weights_[row] = weights_[2 * row] + (2 * row + 1 < weights_.size() ? weights_[2 * row + 1] : 0);
    }
    times_.resize(half);
    weights_.resize(half);
}

// Adds up the rows of several tables in one grid of bins.
class Thinning {
  public:
    Thinning(double from, double to, std::size_t width)
        : from_(from), to_(to), bin_((to - from) / static_cast<double>(width)), filled_(width, false) {}

    void add(const Columns& columns) {
        const std::vector<std::size_t> bins = bins_of(columns);
        for (std::size_t series = 0; series < columns.names_.size(); ++series) {
            std::vector<Sum> sums(filled_.size());
            bool any = false;
            const std::vector<Columns::Cell>& cells = columns.cells_[series];
            for (std::size_t row = 0; row < cells.size(); ++row) {
                if (bins[row] == kOutside || !has_value(cells[row])) continue;
                sums[bins[row]].add(cells[row], columns.weights_[row]);
                filled_[bins[row]] = true;
                any = true;
            }
            if (!any) continue;
            std::vector<Columns::Cell> thinned;
            thinned.reserve(sums.size());
            for (const Sum& sum : sums) thinned.push_back(sum.cell());
            curves_.emplace_back(columns.names_[series], std::move(thinned));
        }
    }

    Thinned result() const {
        Thinned made{.from = from_, .to = to_, .bin = bin_};
        for (std::size_t bin = 0; bin < filled_.size(); ++bin)
            if (filled_[bin]) made.times.push_back(from_ + static_cast<double>(bin) * bin_);
        for (const auto& [name, cells] : curves_) {
            Thinned::Curve& curve = made.curves.emplace_back(Thinned::Curve{.name = name});
            curve.cells.reserve(made.times.size());
            for (std::size_t bin = 0; bin < filled_.size(); ++bin)
                if (filled_[bin]) curve.cells.push_back(cells[bin]);
        }
        return made;
    }

  private:
    static constexpr std::size_t kOutside = std::numeric_limits<std::size_t>::max();

    std::vector<std::size_t> bins_of(const Columns& columns) const {
        std::vector<std::size_t> bins;
        bins.reserve(columns.times_.size());
        for (const double time : columns.times_) {
            const bool inside = time >= from_ && time <= to_;
            const auto bin = inside && bin_ > 0 ? static_cast<std::size_t>((time - from_) / bin_) : 0;
            bins.push_back(inside ? std::min(bin, filled_.size() - 1) : kOutside);
        }
        return bins;
    }

    double from_;
    double to_;
    double bin_;
    std::vector<bool> filled_;
    std::vector<std::pair<SeriesName, std::vector<Columns::Cell>>> curves_{};  // cells of all bins, also of empty ones
};

Thinned thin(std::span<const Columns* const> all, double from, double to, std::size_t width) {
    Thinning thinning(from, std::max(from, to), std::max<std::size_t>(width, 1));
    for (const Columns* columns : all) thinning.add(*columns);
    return thinning.result();
}

}  // namespace memscope::web
