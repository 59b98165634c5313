#pragma once
#include <functional>
#include <initializer_list>
#include <utility>
#include <vector>

#include "analysis/verdict/verdict.h"

namespace memscope {

constexpr double kGiB = 1024.0 * 1024 * 1024;

// A series from a formula: bytes at a time in seconds.
inline Series drawn(double length, double interval, const std::function<double(double)>& bytes, double began = 0) {
    Series series;
    for (double t = 0; t <= length; t += interval)
        series.add(Seconds(began + t), Bytes{static_cast<std::uint64_t>(bytes(t))});
    return series;
}

inline std::vector<Bin> drawn_bins(double length, double interval, const std::function<double(double)>& bytes) {
    return drawn(length, interval, bytes).bins();
}

// Straight lines between corners: (time, bytes).
inline std::function<double(double)> through(std::initializer_list<std::pair<double, double>> corners) {
    return [points = std::vector(corners)](double t) {
        if (t <= points.front().first) return points.front().second;
        for (std::size_t i = 1; i < points.size(); ++i)
            if (t < points[i].first) {
                const auto& [t0, b0] = points[i - 1];
                const auto& [t1, b1] = points[i];
                return b0 + (b1 - b0) * (t - t0) / (t1 - t0);
            }
        return points.back().second;
    };
}

}  // namespace memscope
