#include "analysis/heap/container_curves.h"

#include <algorithm>
#include <utility>

namespace memscope {
namespace {

constexpr Seconds kEndOfGain{600};  // without a gain
constexpr std::uint64_t kLeastLooks = 2;

// The items pointer or the slot shows that a container of two censuses is the same one.
bool is_same(const ContainerPlace& a, const ContainerPlace& b) {
    return a.type == b.type && a.kind == b.kind &&
           ((a.items == b.items && a.items != 0) || (a.slot == b.slot && a.slot != 0));
}

}  // namespace

void ContainerCurves::begin(double time, std::span<const ContainerPlace> places) {
    std::vector<Curve> before = std::exchange(curves_, {});
    curves_.reserve(places.size());
    for (const ContainerPlace& place : places) curves_.push_back({.place = place, .first_seen = time, .read = time});
    std::ranges::sort(curves_, {}, [](const Curve& curve) { return curve.place.address; });
    std::vector<Curve> missed;
    for (Curve& old : before) {
        const auto now =
            std::ranges::lower_bound(curves_, old.place.address, {}, [](const Curve& c) { return c.place.address; });
        if (now == curves_.end() || now->place.address != old.place.address) {
            if (gaining_.contains(old.place.address) || old.first_look == 0) missed.push_back(old);
        } else if (is_same(old.place, now->place)) {
            // The length of the census does not count as a reading, because a census copies memory for seconds.
            const std::uint64_t slot = now->place.slot != 0 ? now->place.slot : old.place.slot;
            *now = old;
            now->place.slot = slot;
        } else {
            gaining_.erase(old.place.address);
        }
    }
    curves_.insert(curves_.end(), missed.begin(), missed.end());
    std::ranges::sort(curves_, {}, [](const Curve& curve) { return curve.place.address; });
    all_ = true;
}

std::vector<ContainerPlace> ContainerCurves::next_look() {
    std::vector<ContainerPlace> places;
    if (std::exchange(all_, false)) {
        for (const Curve& curve : curves_) places.push_back(curve.place);
        return places;
    }
    const std::size_t part = (curves_.size() + kRotation - 1) / kRotation;
    if (next_ >= curves_.size()) next_ = 0;
    const std::size_t end = std::min(curves_.size(), next_ + part);
    for (; next_ < end; ++next_) places.push_back(curves_[next_].place);
    for (const auto& [address, gain] : gaining_)
        if (const Curve* curve = find(address)) places.push_back(curve->place);
    std::ranges::sort(places, {}, &ContainerPlace::address);
    const auto twice = std::ranges::unique(places, {}, &ContainerPlace::address);
    places.erase(twice.begin(), twice.end());
    return places;
}

void ContainerCurves::add(double time, std::span<const ContainerPlace> places,
                          std::span<const ContainerReading> readings) {
    bool lost = false;
    for (std::size_t i = 0; i < std::min(places.size(), readings.size()); ++i) {
        Curve* curve = const_cast<Curve*>(find(places[i].address));
        if (curve == nullptr || time <= curve->read) continue;
        add(time, readings[i], *curve);
        lost = lost || curve->place.address == 0;
    }
    if (lost) std::erase_if(curves_, [](const Curve& curve) { return curve.place.address == 0; });
}

void ContainerCurves::add(double time, const ContainerReading& reading, Curve& curve) {
    switch (reading.state) {
        case ContainerReading::State::same:
            note(time, reading.length, curve);
            curve.place.items = reading.items;
            break;
        case ContainerReading::State::unsure:
            restart(time, reading, curve);
            break;
        case ContainerReading::State::gone:
            gaining_.erase(curve.place.address);
            curve.place.address = 0;
            break;
        case ContainerReading::State::unread:
            break;
    }
}

void ContainerCurves::note(double time, std::uint64_t length, Curve& curve) {
    const std::uint64_t before = std::exchange(curve.place.length, length);
    const double read = std::exchange(curve.read, time);
    if (curve.first_look == 0) {
        curve.first_look = time;
        curve.first_length = length;
    }
    auto gain = gaining_.find(curve.place.address);
    if (length < before) {
        if (gain != gaining_.end()) gaining_.erase(gain);
        return;
    }
    if (gain == gaining_.end()) {
        if (length == before || gaining_.size() >= kMostGaining) return;
        gain = gaining_.emplace(curve.place.address, Gain{.since = read, .gained_at = read, .from = before}).first;
    }
    Gain& its = gain->second;
    const Seconds pause{time - its.gained_at};
    if (length > before) {
        ++its.looks;
        if (its.pauses) its.longest_pause = std::max(its.longest_pause, pause);
        its.gained_at = time;
    } else if (pause > kEndOfGain) {
        gaining_.erase(gain);
        return;
    }
    its.pauses = length == before;
}

// It may be another container at the same address.
void ContainerCurves::restart(double time, const ContainerReading& reading, Curve& curve) {
    gaining_.erase(curve.place.address);
    curve.place.length = reading.length;
    curve.place.items = reading.items;
    curve.first_seen = time;
    curve.read = time;
    curve.first_look = time;
    curve.first_length = reading.length;
}

std::vector<GrowingContainer> ContainerCurves::growing() const {
    std::vector<GrowingContainer> all;
    for (const auto& [address, gain] : gaining_) {
        const Curve* curve = find(address);
        if (curve == nullptr || gain.looks < kLeastLooks) continue;
        const std::uint64_t gained = curve->place.length - gain.from;
        all.push_back({.address = address,
                       .length = curve->place.length,
                       .gained = gained,
                       .since = gain.since,
                       .gained_at = gain.gained_at,
                       .read_at = curve->read,
                       .looks = gain.looks,
                       .longest_pause = gain.longest_pause,
                       .per_second = static_cast<double>(gained) / (curve->read - gain.since)});
    }
    return all;
}

std::optional<double> ContainerCurves::items_per_second(std::uint64_t address) const {
    const Curve* curve = find(address);
    if (curve == nullptr || curve->first_look == 0 || curve->read <= curve->first_look) return std::nullopt;
    return (static_cast<double>(curve->place.length) - static_cast<double>(curve->first_length)) /
           (curve->read - curve->first_look);
}

std::optional<double> ContainerCurves::first_seen(std::uint64_t address) const {
    const Curve* curve = find(address);
    return curve != nullptr ? std::optional(curve->first_seen) : std::nullopt;
}

std::optional<ContainerCurves::Length> ContainerCurves::length(std::uint64_t address) const {
    const Curve* curve = find(address);
    if (curve == nullptr) return std::nullopt;
    return Length{.items = curve->place.length, .read = curve->read, .same_since = curve->first_seen};
}

const ContainerCurves::Curve* ContainerCurves::find(std::uint64_t address) const {
    const auto found =
        std::ranges::lower_bound(curves_, address, {}, [](const Curve& curve) { return curve.place.address; });
    return found != curves_.end() && found->place.address == address ? &*found : nullptr;
}

}  // namespace memscope
