#include "watch/sharing_reader.h"

#include <algorithm>

namespace memscope {
namespace {

Seconds seconds(std::uint64_t ns) { return Seconds{static_cast<double>(ns) * 1e-9}; }

}  // namespace

void SharingReader::tick(std::uint64_t now_ns, const std::vector<ReadSchedule::Candidate>& candidates) {
    take(now_ns);
    std::erase_if(readings_, [&](const auto& entry) {
        return !std::ranges::binary_search(candidates, entry.first, {}, &ReadSchedule::Candidate::id);
    });
    if (!awaited_.empty()) return;
    ++rounds_;
    for (const ReadSchedule::Choice& choice : schedule_.choose(seconds(now_ns), candidates))
        awaited_.push_back({.id = choice.id, .whole = choice.whole, .number = rounds_});
    take(now_ns);
}

void SharingReader::take(std::uint64_t now_ns) {
    std::erase_if(awaited_, [&](const SharingJob& job) {
        const auto answer = read_(job);
        if (!answer) return false;
        // A process that blocks its readers is as one that may not be read.
        const SharingAnswer outcome =
            *answer ? **answer : SharingAnswer{.reading = {.began_ns = now_ns, .read_ns = now_ns}};
        schedule_.took(seconds(now_ns), job.id, outcome.cost);
        if (!outcome.gone) readings_[job.id] = outcome.reading;
        return true;
    });
}

}  // namespace memscope
