#include "watch/sharing/sharing_recorder.h"

#include <algorithm>
#include <unistd.h>

#include "analysis/roles/role_totals.h"

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

namespace {

constexpr std::size_t kProcessesATick = 250;  // are looked at in a tick, on average

}  // namespace

SharingRecorder::SharingRecorder(SharingReader::Read read)
    : page_{static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))}, reader_(std::move(read)) {}

void SharingRecorder::tick(const ProcessTable::Living& living, std::uint64_t scan_began_ns, std::uint64_t now_ns) {
    latest_scan_ns_ = scan_began_ns;
    looks_ = ticks_to_pass_ == 0;
    if (!looks_) {
        --ticks_to_pass_;
        return;
    }
    ticks_to_pass_ = living.size() / kProcessesATick;
    scan_began_ns_ = scan_began_ns;
    now_ns_ = now_ns;
    std::vector<ReadSchedule::Candidate> candidates;
    candidates.reserve(living.size());
    for (const auto& [pid, process] : living)
        if (const auto& memory = process.task.memory)
            candidates.push_back({.id = process.task.id,
                                  .resident = memory->anon + memory->file + memory->shmem,
                                  .forked = process.task.forked_without_exec});
    reader_.tick(now_ns, candidates);
}

void SharingRecorder::describe(CgroupId id, TargetSnapshot& target) {
    target.sharing = look_at(id, target);
    const SharingBook& book = books_.at(id);
    // At every tick: a worker that was just forked must not pass for one that holds all its parent's memory.
    own_[id].fill(latest_scan_ns_, target.processes, reader_.readings(),
                  [&book](const ProcessId& process) { return book.copied_since_read(process); });
    // Measured further up: what of it the processes of the target do not hold.
    MemoryState& memory = target.memory;
    if (!memory.measured_at.empty()) memory.others = memory.usage - sum_own_anon(target.processes);
}

Sharing SharingRecorder::look_at(CgroupId id, const TargetSnapshot& target) {
    if (const auto known = latest_.find(id); !looks_ && known != latest_.end()) return known->second;
    SharingBook& book = books_.try_emplace(id, page_).first->second;
    const MemoryState& memory = target.memory;
    // Measured further up, the cgroup has others in it, who grow as they like.
    const bool alone = memory.measured_at.empty();
    const auto cgroup_anon = alone ? std::optional(memory.by_kind.anon) : std::nullopt;
    Sharing sharing = book.take(
        {.time_ns = scan_began_ns_, .processes = target.processes, .cgroup_anon = cgroup_anon, .usage = memory.usage},
        reader_.readings());
    sharing.pss = sum_pss(target.processes, reader_.readings(), cgroup_anon, now_ns_);
    latest_.insert_or_assign(id, sharing);
    return sharing;
}

}  // namespace memscope
