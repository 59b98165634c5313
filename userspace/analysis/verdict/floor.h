#pragma once
#include <optional>
#include <span>
#include <vector>

#include "analysis/verdict/statistics.h"
#include "model/series.h"

namespace memscope {

// The lower envelope of a series as a few dozen points: the memory that is still held when everything temporary is
// freed.
struct Floor {
    std::vector<double> at{};
    std::vector<double> bytes{};
    double noise = 0;  // random difference between a point and its neighbours, in bytes: a standard deviation
    double level = 0;  // bytes: the median height of the points
    LineFits fits{{}, {}};

    std::size_t size() const { return at.size(); }
    double end() const { return at.back(); }
    double length() const { return at.back() - at.front(); }
    Line line(std::size_t from, std::size_t to) const { return fits.line(from, to); }
    Line line_since(std::size_t from) const { return fits.line(from, at.size()); }
    std::size_t first_since(double time) const;  // index of the first point at or after `time`
    double end_level() const;                    // the median of the last tenth
};

// Noise of single samples: their distance to the line through their two neighbours.
double sample_noise(std::span<const Bin> bins, double level);

// `bins` must not be empty.
Floor find_floor(std::span<const Bin> bins);

// The floor of a series with teeth or spikes, with about one point for each of them: the lowest sample of each stretch
// of `width` seconds. `nullopt` if there are too few stretches.
std::optional<Floor> find_floor_by_stretches(std::span<const Bin> bins, double width, double noise);

// The floor of a sawtooth: the bottom of each tooth. `height`, `period`: of a usual tooth. Leaves out each bottom that
// follows a gap in the samples, because the lowest sample after a gap may be far above the bottom. `nullopt` if there
// are too few or too many teeth.
std::optional<Floor> find_floor_of_teeth(std::span<const Bin> bins, double height, double period, double noise);

// The floor through points at uneven distances. `noise`: of single samples. `level`: of the series, in bytes.
Floor floor_through(std::vector<double> at, std::vector<double> bytes, double noise, double level);

// A stretch of the floor that one straight line describes.
struct Segment {
    std::size_t from = 0;
    std::size_t to = 0;  // one past its last point
    double slope = 0;
    double begin = 0;  // the line's height at its first point ...
    double end = 0;    // ... and at its last
};

// The partition of the floor into lines with the least squared error. Each line adds a penalty, so that noise does not
// get lines of its own.
std::vector<Segment> find_segments(const Floor& floor);

// The penalty of a line, in variances of the noise and natural logarithms of the number of points.
inline constexpr double kPenaltyOfLine = 10;

struct Turn {
    double at = 0;
    double bytes = 0;
};

// The local lows and highs of a series. Moves of less than `least` bytes are ignored.
struct Turns {
    std::vector<Turn> lows{};
    std::vector<Turn> highs{};
};
Turns find_turns(std::span<const Bin> bins, double least);

}  // namespace memscope
