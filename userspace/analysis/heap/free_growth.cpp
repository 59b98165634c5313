#include "analysis/heap/free_growth.h"

#include <algorithm>
#include <cmath>

#include "analysis/targets/growth_cause.h"

namespace memscope {
namespace {

constexpr std::size_t kMostReadings = 64;
constexpr double kLiveGrows = 0.25;   // share of the growth
constexpr double kPartsOfAnon = 0.1;  // the sum of the parts may differ from RssAnon by this share

}  // namespace

bool is_complete_enough(const HeapCensus& census) {
    Bytes sum;
    for (const Bytes part : census.parts) sum += part;
    const double anon = static_cast<double>(census.anon.n);
    return std::abs(static_cast<double>(sum.n) - anon) <= kPartsOfAnon * anon;
}

void FreeGrowth::update(Seconds to_boot, const std::vector<ProcessHeap>& heap) {
    std::map<ProcessId, Past> kept;
    for (const ProcessHeap& each : heap) {
        const HeapCensus& census = each.census;
        auto known = processes_.extract(census.process);
        Past past = known ? std::move(known.mapped()) : Past{};
        past.role = each.role;
        past.complete = is_complete_enough(census);
        const Seconds at = Seconds{census.time} + to_boot;
        // The wall clock may be adjusted, so the time of a census that is already known can move a little.
        constexpr Seconds kSame{1};
        const bool is_new = past.readings.empty() || at > past.readings.back().at + kSame;
        if (is_new && past.complete) {
            // Drops every second reading, but never the first.
            if (past.readings.size() == kMostReadings) {
                std::size_t i = 0;
                std::erase_if(past.readings, [&](const Reading&) { return i++ % 2 == 1; });
            }
            past.readings.push_back(
                {.at = at,
                 .malloc_free = census.part(HeapPart::malloc_free),
                 .python_free = census.part(HeapPart::python_free),
                 .live = census.anon - census.part(HeapPart::malloc_free) - census.part(HeapPart::python_free)});
        }
        kept.emplace(census.process, std::move(past));
    }
    processes_ = std::move(kept);
}

std::vector<const FreeGrowth::Past*> FreeGrowth::past_of(const Rise& rise) const {
    std::vector<const Past*> all;
    for (const auto& [id, past] : processes_) {
        if (rise.role && past.role != *rise.role) continue;
        if (past.readings.empty() || !past.complete) continue;
        if (rise.now - past.readings.back().at <= kFreshCensus) all.push_back(&past);
    }
    return all;
}

// The last census before then, or the first one after that.
const FreeGrowth::Reading& FreeGrowth::first_of(const Past& past, Seconds since) {
    auto first = std::ranges::upper_bound(past.readings, since, {}, &Reading::at);
    if (first != past.readings.begin()) --first;
    return *first;
}

Bytes FreeGrowth::risen(const Rise& rise, Bytes Reading::* part) const {
    Bytes now;         // in all processes
    Bytes then_known;  // part of `now`: in processes with an earlier census
    Bytes before;      // in these processes, by that census
    for (const Past* past : past_of(rise)) {
        const Reading& latest = past->readings.back();
        now += latest.*part;
        const Reading& first = first_of(*past, rise.since);  // memory that was free by then does not count
        if (first.at >= latest.at) continue;
        then_known += latest.*part;
        before += first.*part;
    }
    return std::max(then_known - before, now - rise.from);
}

// True if live memory grows, or may do so because only one census is known.
bool FreeGrowth::live_grows(const Rise& rise) const {
    const auto grows = [&](const auto& first_reading) {
        Bytes live;
        Bytes freed;
        bool known = true;
        for (const Past* past : past_of(rise)) {
            const Reading& latest = past->readings.back();
            const Reading& first = first_reading(*past);
            if (first.at >= latest.at) {
                known = false;
                live += latest.live;
                continue;
            }
            live += latest.live - first.live;
            freed += latest.malloc_free - first.malloc_free;
            freed += latest.python_free - first.python_free;
        }
        const Bytes all = known ? live + freed : rise.by;
        return static_cast<double>(live.n) > kLiveGrows * static_cast<double>(all.n);
    };
    return grows([&](const Past& past) -> const Reading& { return first_of(past, rise.since); }) ||
           grows([](const Past& past) -> const Reading& { return past.readings.front(); });
}

std::optional<GrowthCause> FreeGrowth::cause_of(const Rise& rise) const {
    using Kind = GrowthCause::Kind;
    GrowthCause most{.kind = Kind::malloc_free, .bytes = risen(rise, &Reading::malloc_free)};
    if (const Bytes python = risen(rise, &Reading::python_free); python > most.bytes)
        most = {.kind = Kind::python_free, .bytes = python};
    if (rise.by.n == 0) return std::nullopt;
    most.share = std::min(static_cast<double>(most.bytes.n) / static_cast<double>(rise.by.n), 1.0);
    if (most.share <= kMostOfTheRise || live_grows(rise)) return std::nullopt;
    most.bytes = std::min(most.bytes, rise.by);
    return most;
}

}  // namespace memscope
