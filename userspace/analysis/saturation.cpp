#include "analysis/saturation.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace memscope {
namespace {

struct Fit {
    double squares = std::numeric_limits<double>::infinity();
    double tau = 0;  // as a part of the length
    double grown = 0;
    double slope = 0;
};

// Sums over the points for y = a + b e + c x, where e is the exponential.
struct Moments {
    double n = 0, e = 0, ee = 0, x = 0, xx = 0, ex = 0, y = 0, ey = 0, xy = 0, yy = 0;
};

Fit without_line(const Moments& m) {
    const double ee = m.ee - m.e * m.e / m.n;
    const double ey = m.ey - m.e * m.y / m.n;
    const double yy = m.yy - m.y * m.y / m.n;
    if (ee < 1e-12) return {};
    return {.squares = std::max(0.0, yy - ey * ey / ee), .grown = ey / ee};
}

Fit with_line(const Moments& m) {
    const double ee = m.ee - m.e * m.e / m.n;
    const double xx = m.xx - m.x * m.x / m.n;
    const double ex = m.ex - m.e * m.x / m.n;
    const double ey = m.ey - m.e * m.y / m.n;
    const double xy = m.xy - m.x * m.y / m.n;
    const double yy = m.yy - m.y * m.y / m.n;
    const double determinant = ee * xx - ex * ex;
    if (determinant < 1e-9 * ee * xx || ee < 1e-12) return {};
    Fit fit;
    fit.grown = (ey * xx - xy * ex) / determinant;
    fit.slope = (xy * ee - ey * ex) / determinant;
    fit.squares = std::max(0.0, yy - fit.grown * ey - fit.slope * xy);
    return fit;
}

void keep_better(Fit& best, Fit fit, double tau) {
    if (fit.squares >= best.squares) return;
    best = fit;
    best.tau = tau;
}

// As parts of the length that was seen. Slower than that, an exponential cannot be told from a line.
constexpr double kSlowest = 1.6;
constexpr double kSlowestWithLine = 0.5;

}  // namespace

std::optional<Saturation> find_saturation(const Floor& floor, std::size_t from) {
    constexpr std::size_t kFewest = 8;
    const std::size_t n = floor.size() - from;
    if (n < kFewest) return std::nullopt;
    const double length = floor.end() - floor.at[from];
    if (length <= 0) return std::nullopt;
    Fit plain;
    Fit lasting;
    for (double tau = kSlowest; tau > 0.02; tau *= 0.8) {
        Moments m;
        for (std::size_t i = from; i < floor.size(); ++i) {
            const double x = (floor.at[i] - floor.at[from]) / length;
            const double y = floor.bytes[i] - floor.bytes[from];
            const double e = -std::exp(-x / tau);
            m.n += 1;
            m.e += e;
            m.ee += e * e;
            m.x += x;
            m.xx += x * x;
            m.ex += e * x;
            m.y += y;
            m.ey += e * y;
            m.xy += x * y;
            m.yy += y * y;
        }
        keep_better(plain, without_line(m), tau);
        if (tau <= kSlowestWithLine) keep_better(lasting, with_line(m), tau);
    }
    const double line = floor.line_since(from).squares;
    const double freedom = std::max(1.0, static_cast<double>(n) - 4);
    const double noise = floor.noise * floor.noise;
    if (lasting.grown <= 0 || lasting.squares / freedom > 8 * noise || lasting.squares > 0.75 * line ||
        (line - lasting.squares) * freedom < 22 * lasting.squares)
        return std::nullopt;
    const double gain = (plain.squares - lasting.squares) / (lasting.squares / freedom + 1e-30);
    const bool lasts = gain >= 10;
    const Fit& used = lasts ? lasting : plain;
    return Saturation{.tau = used.tau * length,
                      .grown = used.grown,
                      .to_come = used.grown * std::exp(-1 / used.tau),
                      .lasting = used.slope / length,
                      .lasts = lasts};
}

}  // namespace memscope
