#include "analysis/verdict/saturation.h"

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

// Values of tau, as parts of the observed time. A slower exponential cannot be distinguished from a line.
constexpr double kSlowest = 1.6;
constexpr double kSlowestWithLine = 0.5;
constexpr double kFastest = 0.02;
constexpr double kStride = 0.8;

// Refines tau between the values that were tried, in steps that get half as long each time.
template <class At>
void refine(Fit& best, At at) {
    if (best.tau == 0) return;
    for (double stride = std::sqrt(kStride); stride < 0.99; stride = std::sqrt(stride))
        for (const double tau : {best.tau * stride, best.tau / stride}) keep_better(best, at(tau), tau);
}

Moments moments(const Floor& floor, std::size_t from, double length, double tau) {
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
    return m;
}

// The part of the points that is statistically independent. It is small if adjacent points deviate from the curve in
// the same direction.
double independence(const Floor& floor, std::size_t from, double length, const Fit& fit) {
    if (fit.tau == 0) return 1;
    const auto shape = [&](std::size_t i) {
        const double x = (floor.at[i] - floor.at[from]) / length;
        return fit.slope * x - fit.grown * std::exp(-x / fit.tau);
    };
    double offset = 0;
    for (std::size_t i = from; i < floor.size(); ++i) offset += floor.bytes[i] - shape(i);
    offset /= static_cast<double>(floor.size() - from);
    double before = 0;
    double own = 1e-9;
    double next = 0;
    for (std::size_t i = from; i < floor.size(); ++i) {
        const double miss = floor.bytes[i] - shape(i) - offset;
        own += miss * miss;
        next += miss * before;
        before = miss;
    }
    const double inertia = std::clamp(next / own, 0.0, 0.97);
    return (1 - inertia) / (1 + inertia);
}

}  // namespace

double Saturation::growth(double begin, double end) const {
    return grown * (std::exp(-(begin - from) / tau) - std::exp(-(end - from) / tau)) + lasting * (end - begin);
}

std::optional<Saturation> find_saturation(const Floor& floor, std::size_t from) {
    constexpr std::size_t kFewest = 8;
    const std::size_t n = floor.size() - from;
    if (n < kFewest) return std::nullopt;
    const double length = floor.end() - floor.at[from];
    if (length <= 0) return std::nullopt;
    Fit plain;
    Fit lasting;
    for (double tau = kSlowest; tau > kFastest; tau *= kStride) {
        const Moments m = moments(floor, from, length, tau);
        keep_better(plain, without_line(m), tau);
        if (tau <= kSlowestWithLine) keep_better(lasting, with_line(m), tau);
    }
    refine(plain, [&](double tau) { return without_line(moments(floor, from, length, tau)); });
    refine(lasting, [&](double tau) { return with_line(moments(floor, from, length, tau)); });
    const double freedom = std::max(1.0, static_cast<double>(n) - 4);
    const double gain =
        (plain.squares - lasting.squares) / std::max(lasting.squares / freedom, floor.noise * floor.noise);
    const bool lasts = gain >= 10 && lasting.slope > 0.005 * lasting.grown;
    const Fit& used = lasts ? lasting : plain;
    const double line = floor.line_since(from).squares;
    const double alone = independence(floor, from, length, used);
    if (used.grown <= 0 || used.squares / freedom > 8 * floor.noise * floor.noise || used.squares > 0.75 * line ||
        (line - used.squares) * freedom * alone < 22 * used.squares)
        return std::nullopt;
    return Saturation{.from = floor.at[from],
                      .tau = used.tau * length,
                      .grown = used.grown,
                      .to_come = used.grown * std::exp(-1 / used.tau),
                      .lasting = used.slope / length,
                      .lasts = lasts,
                      .squares = used.squares};
}

std::optional<double> slowing_by_thirds(const Floor& floor, std::size_t from) {
    constexpr std::size_t kFewest = 12;
    const std::size_t n = floor.size() - from;
    if (n < kFewest) return std::nullopt;
    const double third = (floor.end() - floor.at[from]) / 3;
    const std::size_t first = floor.first_since(floor.at[from] + third);
    const std::size_t second = floor.first_since(floor.at[from] + 2 * third);
    if (first < from + 4 || second < first + 4 || second + 4 > floor.size()) return std::nullopt;
    const std::size_t parts[] = {from, first, second, floor.size()};
    double error = 0;  // standard error of the slopes that are compared
    for (int i = 0; i < 3; ++i) {
        const Line line = floor.line(parts[i], parts[i + 1]);
        const auto points = static_cast<double>(parts[i + 1] - parts[i]);
        const double spread = std::max(floor.noise, std::sqrt(line.squares / (points - 2)));
        if (spread > std::max(3 * floor.noise, 0.12 * line.slope * third)) return std::nullopt;  // a step and no curve
        if (i > 0) error = std::max(error, spread * std::sqrt(12 / points) / third);
    }
    const double early = floor.line(from, first).slope;
    const double middle = floor.line(first, second).slope;
    const double late = floor.line_since(second).slope;
    if (late <= 0 || late > 0.85 * middle || middle > 0.95 * early || middle - late < 6 * error) return std::nullopt;
    const double ratio = late / middle;
    return late * third * ratio / (1 - ratio);
}

}  // namespace memscope
