#pragma once
#include <algorithm>
#include <map>

#include "analysis/sharing/unsharing_tracker.h"

namespace memscope::test {

constexpr Bytes kPage{4096};
constexpr Bytes mib(std::uint64_t n) { return {n << 20}; }

// A made-up job that counts memory as the kernel does. An UnsharingTracker watches it once a second.
class SharedJob {
  public:
    bool readable = true;        // whether the pages of its processes can be read,
    int read_every = 1;          // and the number of ticks between two readings
    bool cgroup_is_ours = true;  // false: its numbers include other processes

    void start(pid_t pid, Bytes anon, Role role = Role::trainer) {
        add(pid, 0, role, false).task.memory = AddressSpace{.anon = anon};
        own_[pid] = anon;
        cgroup_ += anon;
    }
    void fork(pid_t parent, pid_t pid, Role role = Role::dataloader_worker) {
        add(pid, parent, role, true).task.memory = AddressSpace{.anon = anon(parent)};
        own_[pid] = {};
    }
    void copy(pid_t pid, Bytes bytes) {
        fault(pid, bytes);
        own_[pid] += bytes;
        cgroup_ += bytes;
    }
    void grow(pid_t pid, Bytes bytes, std::uint64_t pages_per_fault = 1) {
        fault(pid, {bytes.n / pages_per_fault});
        anon(pid) += bytes;
        own_[pid] += bytes;
        cgroup_ += bytes;
    }
    void shrink(pid_t pid, Bytes bytes) {
        anon(pid) = anon(pid) - bytes;
        own_[pid] = own_[pid] - bytes;
        cgroup_ = cgroup_ - bytes;
    }
    void free_shared(pid_t pid, Bytes bytes) { anon(pid) = anon(pid) - bytes; }  // other processes keep it
    // The last process that shared this memory has exited.
    void becomes_own(pid_t pid, Bytes bytes) { own_[pid] += bytes; }
    void fault(pid_t pid, Bytes bytes) { processes_.at(pid).task.faults.minor += bytes.n / kPage.n; }
    void swap_out_shared(Bytes bytes) {
        for (auto& [pid, process] : processes_) {
            anon(pid) = anon(pid) - bytes;
            process.task.memory->swap += bytes;
        }
        cgroup_ = cgroup_ - bytes;
    }
    void exec(pid_t pid, Bytes anon_after) {
        cgroup_ = cgroup_ - own_[pid] + anon_after;
        anon(pid) = own_[pid] = anon_after;
        processes_.at(pid).task.forked_without_exec = false;
    }
    void exit(pid_t pid) {
        cgroup_ = cgroup_ - own_[pid];
        processes_.erase(pid);
        own_.erase(pid);
    }
    void jitter(std::int64_t bytes) { noise_ = bytes; }  // noise of the cgroup's counters

    const Sharing& tick() {
        std::vector<Process> list;
        const bool read = ticks_++ % read_every == 0;
        now_ns_ += 1'000'000'000;
        for (const auto& [pid, process] : processes_) {
            list.push_back(process);
            if (!read) continue;
            SharingReading& reading = readings_[process.task.id];
            reading.read_ns = now_ns_;
            if (readable) reading.pages = PageSharing{.anonymous = process.task.memory->anon, .own_anon = own_[pid]};
        }
        const Bytes cgroup{static_cast<std::uint64_t>(static_cast<std::int64_t>(cgroup_.n) + noise_)};
        latest_ = tracker_.take({.time_ns = now_ns_,
                                 .processes = list,
                                 .cgroup_anon = cgroup_is_ours ? std::optional(cgroup) : std::nullopt,
                                 .usage = cgroup},
                                readings_);
        return latest_;
    }
    // In MiB, of all roles; -1: not known.
    double unshared() const {
        if (latest_.unshared.empty()) return -1;
        double sum = 0;
        for (const auto& [key, unshared] : latest_.unshared) sum += static_cast<double>(unshared.bytes.n);
        return sum / (1 << 20);
    }
    const Sharing& latest() const { return latest_; }

  private:
    Process& add(pid_t pid, pid_t parent, Role role, bool forked) {
        Process& process = processes_[pid];
        process.task.id = {pid, now_ns_ + 1};
        process.task.parent = parent;
        process.task.forked_without_exec = forked;
        process.role = role;
        return process;
    }
    Bytes& anon(pid_t pid) { return processes_.at(pid).task.memory->anon; }

    UnsharingTracker tracker_{kPage};
    std::map<pid_t, Process> processes_{};
    std::map<pid_t, Bytes> own_{};
    SharingReadings readings_{};
    int ticks_ = 0;
    Bytes cgroup_{};
    std::int64_t noise_ = 0;
    std::uint64_t now_ns_ = 1'000'000'000;
    Sharing latest_{};
};

// A trainer with 1000 MiB and its workers, after one tick.
inline void begin(SharedJob& job, std::initializer_list<pid_t> workers) {
    job.start(1, mib(1000));
    job.tick();
    for (const pid_t pid : workers) job.fork(1, pid);
    job.tick();
}

inline SharedJob three_workers() {
    SharedJob job;
    begin(job, {11, 12, 13});
    return job;
}

}  // namespace memscope::test
