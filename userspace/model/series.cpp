#include "model/series.h"

#include <algorithm>
#include <cmath>

namespace memscope {
namespace {

// Powers of two, so that the edges of wide cells are exactly edges of narrow cells.
constexpr double kNarrowest = 1.0 / 16;
constexpr double kFineRatio = 8;
constexpr std::size_t kWhole = 1024;
constexpr std::size_t kFine = 512;
constexpr std::size_t kRecent = 512;

double aligned_up(double at, double width) { return std::ceil(at / width) * width; }

}  // namespace

void BinRow::add(double at, double bytes) {
    const auto cell = static_cast<std::int64_t>(std::floor(at / width_));
    if (bins_.empty() || bins_.back().cell != cell) {
        bins_.push_back({bytes, 0, static_cast<float>(at), static_cast<float>(at), 1, cell});
        return;
    }
    Packed& bin = bins_.back();
    ++bin.count;
    if (bytes < bin.low) {
        bin.rise += static_cast<float>(bin.low - bytes);
        bin.low = bytes;
        bin.low_at = static_cast<float>(at);
    } else if (bytes > bin.low + static_cast<double>(bin.rise)) {
        bin.rise = static_cast<float>(bytes - bin.low);
        bin.high_at = static_cast<float>(at);
    }
}

void BinRow::coarsen() {
    width_ *= 2;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < bins_.size(); ++i) {
        Packed bin = bins_[i];
        bin.cell >>= 1;
        if (kept == 0 || bins_[kept - 1].cell != bin.cell) {
            bins_[kept++] = bin;
            continue;
        }
        Packed& into = bins_[kept - 1];
        const double high =
            std::max(into.low + static_cast<double>(into.rise), bin.low + static_cast<double>(bin.rise));
        if (high > into.low + static_cast<double>(into.rise)) into.high_at = bin.high_at;
        if (bin.low < into.low) {
            into.low = bin.low;
            into.low_at = bin.low_at;
        }
        into.rise = static_cast<float>(high - into.low);
        into.count += bin.count;
    }
    bins_.resize(kept);
}

void BinRow::forget_oldest(std::size_t n) {
    bins_.erase(bins_.begin(), bins_.begin() + static_cast<std::ptrdiff_t>(n));
}

double BinRow::begins(std::size_t i) const { return static_cast<double>(bins_[i].cell) * width_; }

Bin BinRow::bin(std::size_t i) const {
    const Packed& bin = bins_[i];
    return {bin.low, bin.low + static_cast<double>(bin.rise), static_cast<double>(bin.low_at),
            static_cast<double>(bin.high_at), bin.count};
}

Series::Series() : whole_(kNarrowest), fine_(kNarrowest) {}

void Series::add(Seconds time, Bytes bytes) {
    if (count_ == 0) began_ = time;
    const double at = (time - began_).count();
    if (!(at >= length_)) {
        ++left_out_;
        return;
    }
    length_ = at;
    ++count_;
    latest_ = bytes.n;
    peak_ = std::max(peak_, bytes.n);
    admit(at, static_cast<double>(bytes.n));
}

void Series::admit(double at, double bytes) {
    if (!recent_.empty() && recent_.back().at == at) {
        recent_.back().bytes = std::min(recent_.back().bytes, bytes);
    } else {
        if (recent_.size() == 2 * kRecent) recent_.erase(recent_.begin(), recent_.begin() + kRecent);
        recent_.push_back({at, bytes});
    }
    fine_.add(at, bytes);
    whole_.add(at, bytes);
    while (whole_.size() > kWhole) {
        whole_.coarsen();
        if (fine_.width() * kFineRatio < whole_.width()) fine_.coarsen();
    }
    if (fine_.size() > kFine + kFine / 2) fine_.forget_oldest(kFine / 2);
}

std::vector<Bin> Series::bins(double since) const {
    if (count_ == 0) return {};
    // Each finer row begins at an edge of a cell of the coarser row, so that no sample counts twice.
    double fine_from = fine_.begins(0) == 0 ? 0 : aligned_up(fine_.begins(0), whole_.width());
    double recent_from = recent_.front().at == 0 ? 0 : aligned_up(recent_.front().at, fine_.width());
    if (recent_from <= fine_from) fine_from = recent_from = aligned_up(recent_from, whole_.width());

    std::vector<Bin> bins;
    bins.reserve(whole_.size() + fine_.size() + recent_.size());
    const auto take = [&](const Bin& bin) {
        if (bin.low_at >= since) bins.push_back(bin);
    };
    for (std::size_t i = 0; i < whole_.size() && whole_.begins(i) < fine_from; ++i) take(whole_.bin(i));
    for (std::size_t i = 0; i < fine_.size() && fine_.begins(i) < recent_from; ++i)
        if (fine_.begins(i) >= fine_from) take(fine_.bin(i));
    for (const Sample& sample : recent_)
        if (sample.at >= recent_from) take({sample.bytes, sample.bytes, sample.at, sample.at, 1});
    return bins;
}

}  // namespace memscope
