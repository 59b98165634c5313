#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "recording/recording.h"

namespace memscope::web {

// A curve of the page. `id` and `group` are those of docs/web.md.
struct SeriesName {
    std::string id{};
    std::string label{};
    std::string group{};
};

// The values of many series over time, in bounded memory. A row has one time and a cell for each series. Rows may be
// added in any order. When there are too many cells, neighbouring rows are merged, so that lowest and highest values
// stay exact and only times become coarser.
class Columns {
  public:
    static constexpr std::size_t kMostSeries = 512;

    // NaN: no value.
    struct Cell {
        double low;
        double high;
        double mean;
    };
    struct Value {
        std::size_t series = 0;
        Cell cell{};
    };

    explicit Columns(std::size_t most_cells) : most_cells_(most_cells) {}

    // The number of a series, which is added if it is new. `nullopt`: there are too many.
    std::optional<std::size_t> find_or_add(const SeriesName& name);
    // Adds a row for a tick.
    void add(double time, std::span<const Value> values);
    // Adds ranges of time of which only the lowest and the highest value are known. Leaves out ranges that add nothing
    // to the ticks in them. `began`: added to the times of the ranges.
    void add_ranges(std::size_t series, double began, const std::vector<RecordedBin>& ranges, Seconds width);

    std::size_t rows() const { return times_.size(); }

  private:
    friend class Thinning;
    void merge_neighbours();
    void sort_rows();
    void put(std::size_t series, std::size_t row, const Cell& cell);

    std::size_t most_cells_;
    std::vector<double> times_{};
    std::vector<std::uint32_t> weights_{};  // number of ticks in the row; 0: the row is a range
    std::vector<SeriesName> names_{};
    std::map<std::string, std::size_t> numbers_{};  // by id
    std::vector<std::vector<Cell>> cells_{};        // by series; a missing row at the end has no value
};

// A span of time in equal bins: the lowest, the highest and the mean value of each series in each bin.
struct Thinned {
    struct Curve {
        SeriesName name{};
        std::vector<Columns::Cell> cells{};  // parallel to `times`
    };
    double from = 0;
    double to = 0;
    double bin = 0;               // seconds
    std::vector<double> times{};  // start of each bin that has a value
    std::vector<Curve> curves{};  // those that have a value
};
// `width`: number of bins, at least 1.
Thinned thin(std::span<const Columns* const> all, double from, double to, std::size_t width);

}  // namespace memscope::web
