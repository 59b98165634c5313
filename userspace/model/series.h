#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"

namespace memscope {

// The lowest and the highest value of some consecutive samples.
struct Bin {
    double low = 0;  // bytes
    double high = 0;
    double low_at = 0;  // seconds since the first sample of the series
    double high_at = 0;
    std::uint32_t count = 0;
};

// One row of bins of equal width on a grid that starts at 0. Empty bins are not stored.
class BinRow {
  public:
    explicit BinRow(double width) : width_(width) {}

    void add(double at, double bytes);
    void coarsen();                     // doubles the width and joins neighbours
    void forget_oldest(std::size_t n);  // the first n bins
    double width() const { return width_; }
    std::size_t size() const { return bins_.size(); }
    double begins(std::size_t i) const;  // start of the cell of a bin
    Bin bin(std::size_t i) const;

  private:
    // Smaller than a Bin, because there are many. Times are exact to one 16-millionth of the length of the series.
    struct Packed {
        double low;
        float rise;  // high - low
        float low_at;
        float high_at;
        std::uint32_t count;
        std::int64_t cell;
    };
    double width_;
    std::vector<Packed> bins_{};
};

// The history of a size in bounded memory (at most 80 KiB), for any length. It keeps the last samples as they are, the
// time before in fine bins, and the rest in bins whose width doubles whenever there are too many. The stored data
// depends only on the samples, never on when it is read.
class Series {
  public:
    struct Sample {
        double at;  // seconds since the first sample
        double bytes;
    };

    Series();

    // A sample with a time before the last one is left out and counted. Of samples with equal times, only the smallest
    // counts.
    void add(Seconds time, Bytes bytes);

    std::uint64_t count() const { return count_; }
    std::uint64_t left_out() const { return left_out_; }
    Seconds began() const { return began_; }   // the time of the first sample
    double length() const { return length_; }  // seconds from the first sample to the last
    Bytes latest() const { return {latest_}; }
    Bytes peak() const { return {peak_}; }

    // All data since `since` (seconds since the first sample), as fine as it is stored: oldest first, without overlap.
    std::vector<Bin> bins(double since = 0) const;
    // The last samples as they came: 512 to 1,024 of them, or all.
    const std::vector<Sample>& recent() const { return recent_; }

  private:
    void admit(double at, double bytes);

    BinRow whole_;
    BinRow fine_;
    std::vector<Sample> recent_{};
    Seconds began_{};
    double length_ = 0;
    std::uint64_t count_ = 0;
    std::uint64_t left_out_ = 0;
    std::uint64_t latest_ = 0;
    std::uint64_t peak_ = 0;
};

}  // namespace memscope
