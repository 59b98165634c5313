#include "watch/sharing/sharing_recorder.h"

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
        // A process that blocks its readers is treated like a process that memscope has no permission to read.
        const SharingAnswer outcome =
            *answer ? **answer : SharingAnswer{.reading = {.began_ns = now_ns, .read_ns = now_ns}};
        schedule_.took(seconds(now_ns), job.id, outcome.cost);
        if (!outcome.gone) readings_[job.id] = outcome.reading;
        return true;
    });
}

const SharingTick& SharingRecorder::tick(const ProcessTable::Living& living, std::uint64_t scan_began_ns,
                                         std::uint64_t now_ns) {
    constexpr std::size_t kProcessesPerTick = 250;  // compared in a tick, on average
    tick_.readings = &reader_.readings();
    tick_.scan_ns = scan_began_ns;
    tick_.compares = ticks_to_skip_ == 0;
    if (!tick_.compares) {
        --ticks_to_skip_;
        return tick_;
    }
    ticks_to_skip_ = living.size() / kProcessesPerTick;
    tick_.compared_scan_ns = scan_began_ns;
    tick_.compared_ns = now_ns;
    std::vector<ReadSchedule::Candidate> candidates;
    candidates.reserve(living.size());
    for (const auto& [pid, process] : living)
        if (const auto& memory = process.task.memory)
            candidates.push_back({.id = process.task.id,
                                  .resident = memory->anon + memory->file + memory->shmem,
                                  .forked = process.task.forked_without_exec});
    reader_.tick(now_ns, candidates);
    return tick_;
}

}  // namespace memscope
