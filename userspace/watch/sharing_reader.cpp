#include "watch/sharing_reader.h"

#include <algorithm>

#include "sources/pagemap.h"
#include "sources/procfs.h"
#include "sources/smaps_rollup.h"
#include "watch/clock.h"

namespace memscope {
namespace {

Seconds seconds(std::uint64_t ns) { return Seconds{static_cast<double>(ns) * 1e-9}; }

}  // namespace

void SharingReader::tick(std::uint64_t now_ns, const std::vector<ReadSchedule::Candidate>& candidates) {
    take(now_ns);
    std::erase_if(readings_, [&](const auto& entry) {
        return !std::ranges::binary_search(candidates, entry.first, {}, &ReadSchedule::Candidate::id);
    });
    if (awaited_ > 0) return;
    auto chosen = schedule_.choose(seconds(now_ns), candidates);
    if (chosen.empty()) return;
    awaited_ = chosen.size();
    {
        const std::lock_guard lock(mutex_);
        wanted_ = std::move(chosen);
    }
    woken_.notify_one();
    if (!thread_.joinable()) thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void SharingReader::take(std::uint64_t now_ns) {
    std::vector<Outcome> outcomes;
    {
        const std::lock_guard lock(mutex_);
        outcomes.swap(outcomes_);
    }
    for (const Outcome& outcome : outcomes) {
        schedule_.took(seconds(now_ns), outcome.id, outcome.cost);
        if (!outcome.gone) readings_[outcome.id] = outcome.reading;
        --awaited_;
    }
}

void SharingReader::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        std::vector<ReadSchedule::Choice> wanted;
        {
            std::unique_lock lock(mutex_);
            if (!woken_.wait(lock, stop, [this] { return !wanted_.empty(); })) return;
            wanted.swap(wanted_);
        }
        for (const ReadSchedule::Choice& choice : wanted) {
            if (stop.stop_requested()) return;
            const Outcome outcome = read_one(choice);
            const std::lock_guard lock(mutex_);
            outcomes_.push_back(outcome);
        }
    }
}

SharingReader::Outcome SharingReader::read_one(const ReadSchedule::Choice& choice) const {
    const ProcessId id = choice.id;
    const Seconds began_cpu = thread_cpu_time();
    const auto process = open_process(root_, id);
    if (!process) return {.id = id, .cost = {.cpu = thread_cpu_time() - began_cpu}, .gone = true};
    const std::uint64_t began_ns = read_clock().boot_ns;
    const auto pages =
        choice.whole ? read_smaps_rollup(*process) : read_page_sample(*process, ReadSchedule::kLongestSample);
    const std::uint64_t ended_ns = read_clock().boot_ns;
    // ENOENT may be a process that ends, or a kernel without the file.
    const bool gone = !pages && (pages.error().code == std::errc::no_such_process || !open_process(root_, id));
    return {
        .id = id,
        .cost = {.cpu = thread_cpu_time() - began_cpu, .held = seconds(ended_ns - began_ns)},
        .gone = gone,
        .reading = {.began_ns = began_ns, .read_ns = ended_ns, .pages = pages ? std::optional(*pages) : std::nullopt}};
}

}  // namespace memscope
