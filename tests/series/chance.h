#pragma once
#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>

namespace memscope::made {

// Random numbers that are the same with every standard library. The distributions in <random> are not.
class Chance {
  public:
    explicit Chance(std::uint64_t seed) : engine_(seed) {}

    double unit() { return static_cast<double>(engine_() >> 11U) * 0x1p-53; }  // 0 to below 1
    double between(double low, double high) { return low + (high - low) * unit(); }
    // Uniform on a logarithmic scale.
    double scaled(double low, double high) { return low * std::exp(unit() * std::log(high / low)); }
    int whole(int low, int high) { return low + static_cast<int>(unit() * (high - low + 1)); }
    bool flip(double probability) { return unit() < probability; }
    double normal() {
        const double r = std::sqrt(-2 * std::log(1 - unit()));
        return r * std::cos(2 * std::numbers::pi * unit());
    }

  private:
    std::mt19937_64 engine_;
};

}  // namespace memscope::made
