#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace memscope {

double median_value(std::vector<double> values);               // 0 if there are no values
double quantile(std::vector<double> values, double fraction);  // the nearest value, 0 if there are no values

// A straight line through points by least squares.
struct Line {
    double slope = 0;
    double at = 0;       // the mean of the points' times ...
    double height = 0;   // ... and the value of the line there
    double squares = 0;  // sum of the squared distances
    double value(double time) const { return height + slope * (time - at); }
};

// Fits a line through any range of the same points in constant time.
class LineFits {
  public:
    LineFits(std::span<const double> times, std::span<const double> values);
    Line line(std::size_t from, std::size_t to) const;  // of the points from ... to - 1, at least one

  private:
    struct Sums {
        double x = 0, y = 0, xx = 0, xy = 0, yy = 0;
    };
    double first_ = 0;
    double mean_ = 0;
    std::vector<Sums> sums_{};
};

}  // namespace memscope
