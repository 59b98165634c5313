#include "watch/growth/resident_recorder.h"

#include <algorithm>
#include <utility>

#include "watch/clock.h"

namespace memscope {

void ResidentRecorder::add(const GrowthSample& sample) { waiting_.push_back(sample); }

void ResidentRecorder::samples_drained(std::uint64_t time_ns) { drained_ns_ = time_ns; }

void ResidentRecorder::apply(const RangeEvent& event) {
    if (event.call == MS_RANGE_END) return;  // end() follows, after the last state was kept for a report
    const std::lock_guard lock(mutex_);
    samples_.apply(event);
}

void ResidentRecorder::ranges_drained() {
    const std::lock_guard lock(mutex_);
    for (const GrowthSample& sample : std::exchange(waiting_, {})) samples_.add(sample);
    // A sample arrives some microseconds after its timestamp.
    constexpr std::uint64_t kSendingNs = 1'000'000'000;
    if (drained_ns_ > kSendingNs) samples_.forget_events_before(drained_ns_ - kSendingNs);
}

void ResidentRecorder::settle(const ProcessId& process) {
    const std::lock_guard lock(mutex_);
    std::erase_if(waiting_, [&](const GrowthSample& sample) {
        if (sample.process != process) return false;
        samples_.add(sample);
        return true;
    });
}

void ResidentRecorder::end(const ProcessId& process) {
    const std::lock_guard lock(mutex_);
    samples_.end(process);
    checks_.erase(process);
}

std::optional<std::uint64_t> ResidentRecorder::checked_ns(const ProcessId& process) const {
    const std::lock_guard lock(mutex_);
    const auto found = checks_.find(process);
    return found == checks_.end() ? std::nullopt : found->second.last;
}

void ResidentRecorder::move_stacks(const LiveSamples::Moves& to, std::uint64_t now_ns) {
    const std::lock_guard lock(mutex_);
    samples_.move_stacks(to, now_ns);
}

std::vector<HeldAtStack> ResidentRecorder::held(const ProcessId& process) const {
    const std::lock_guard lock(mutex_);
    return samples_.held(process);
}

std::size_t ResidentRecorder::sample_count(const std::vector<Process>& processes) const {
    const std::lock_guard lock(mutex_);
    std::size_t count = 0;
    for (const Process& process : processes) count += samples_.count(process.task.id);
    return count;
}

std::map<StackId, std::int64_t> ResidentRecorder::by_stack() const {
    const std::lock_guard lock(mutex_);
    return samples_.by_stack();
}

void ResidentRecorder::bound(const std::vector<Process>& processes) {
    const std::lock_guard lock(mutex_);
    const auto count = [this](const Process& process) { return samples_.count(process.task.id); };
    for (;;) {
        std::size_t sum = 0;
        for (const Process& process : processes) sum += count(process);
        if (sum <= kMostOfTarget) return;
        samples_.thin(std::ranges::max_element(processes, {}, count)->task.id);
    }
}

void ResidentRecorder::take(const PagesJob& job, Piece piece, const Result<PagesAnswer>& answer) {
    const std::lock_guard lock(mutex_);
    next_check_ = std::max(next_check_, boot_time());
    if (!answer) return;  // the process has ended, or cannot be read: its samples end with it
    next_check_ += answer->cpu / kShareOfCpu;
    samples_.remove_absent(job.id, answer->absent, answer->began_ns, read_clock().boot_ns);
    if (samples_.count(job.id) == 0) {  // the process may have ended
        checks_.erase(job.id);
        return;
    }
    Checks& checks = checks_[job.id];
    if (piece == Piece::first) checks.began_ns = answer->began_ns;
    if (job.addresses.size() < kPagesPerJob) checks.last = checks.began_ns;
}

// The next pages of the process that was checked last. If it has no more pages: the first pages of the next process.
std::optional<PagesJob> ResidentRecorder::next_job(const std::map<pid_t, TrackedProcess>& processes) {
    const std::lock_guard lock(mutex_);
    auto process = processes.lower_bound(checked_.pid);
    for (std::size_t seen = 0; seen <= processes.size(); ++seen, ++process) {
        if (process == processes.end()) process = processes.begin();
        if (process == processes.end()) break;
        const ProcessId id = process->second.task.id;
        const std::uint64_t from = id == checked_ ? checked_below_ : 0;
        auto addresses = samples_.addresses(id, from, kPagesPerJob);
        checked_ = id;
        checked_below_ = addresses.empty() ? UINT64_MAX : addresses.back() + 1;
        if (addresses.empty() || reads_->slow.is_blocked(id.pid)) continue;
        job_piece_ = from == 0 ? Piece::first : Piece::later;
        return PagesJob{.id = id, .number = ++numbers_, .addresses = std::move(addresses)};
    }
    return std::nullopt;
}

void ResidentRecorder::tick(Seconds now, const std::map<pid_t, TrackedProcess>& processes) {
    if (!job_ && may_check(now)) job_ = next_job(processes);
    if (!job_) return;
    const auto answer = reads_->slow.ask(*job_);
    if (!answer) return;
    take(*job_, job_piece_, *answer);
    if (!*answer) {
        const std::lock_guard lock(mutex_);
        next_check_ = std::max(next_check_, now + Seconds{1});
    }
    job_.reset();
}

bool ResidentRecorder::may_check(Seconds now) const {
    const std::lock_guard lock(mutex_);
    return now >= next_check_;
}

void ResidentRecorder::check(const std::vector<Process>& processes) {
    if (!may_check(boot_time() + kAnswerAdvance)) return;
    for (const Process& process : processes) {
        PagesJob job{.id = process.task.id};
        for (std::uint64_t from = 0;;) {
            {
                const std::lock_guard lock(mutex_);
                job.addresses = samples_.addresses(process.task.id, from, kPagesPerJob);
            }
            if (job.addresses.empty()) break;
            const auto answer = reads_->patient.call(job);
            if (!answer) break;
            take(job, from == 0 ? Piece::first : Piece::later, answer);
            if (job.addresses.size() < kPagesPerJob) break;
            from = job.addresses.back() + 1;
        }
    }
}

}  // namespace memscope
