#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/files.h"
#include "base/result.h"
#include "kernel/session.h"
#include "model/snapshot.h"
#include "watch/deaths/death_lookups.h"
#include "watch/gpu/gpu_probe_watch.h"
#include "watch/gpu/nvml_watch.h"
#include "watch/growth/growth_recorder.h"
#include "watch/heap/heap_recorder.h"
#include "watch/helpers/read_jobs.h"
#include "watch/helpers/tick_reads.h"
#include "watch/sharing/sharing_recorder.h"
#include "watch/targets/target_reader.h"
#include "watch/targets/target_source.h"
#include "watch/watch_options.h"
#include "watch/watch_state.h"

namespace memscope {

// One file descriptor that becomes readable when any of several becomes readable.
class EventPoll {
  public:
    EventPoll();

    int fd() const { return epoll_.get(); }
    Status add(int fd);
    bool has(int fd) const { return added_.contains(fd); }

  private:
    Fd epoll_;
    std::set<int> added_{};
};

// Reads the resources that memscope itself uses. The size of its BPF maps and its open files change little
// and are slow to read, so they are read only every 10 s.
class SelfReader {
  public:
    SelfSample read(const SysRoot& root, const std::function<Bytes()>& map_memory, std::uint64_t now_ns);

  private:
    std::optional<SelfSample> last_{};
    std::uint64_t all_read_ns_ = 0;  // boot clock: when the slow values were read
};

// Reads the kernel, the cgroups and the processes, and passes the readings to WatchState. Makes one Snapshot per tick.
class Collector {
  public:
    static Result<Collector> start(const SysRoot& root, const WatchOptions& options);
    // Uses only kernel features that are in `facts`.
    static Result<Collector> start(const SysRoot& root, const WatchOptions& options, const KernelFacts& facts);

    int events_fd() const { return events_.fd(); }
    void on_events();  // when events_fd() is readable: between two ticks
    Result<Snapshot> tick();
    // False if the process that starts helper processes was killed. It cannot be started again.
    bool has_helpers() const { return reads_->can_start(); }
    // Number of answers of the helper that loads symbols.
    std::uint64_t symbol_answers() const { return reads_->slow.answers(); }
    // A death, or the end of a target, should be shown before the next regular tick.
    bool has_news() const { return state_.has_news() || lost_target_; }
    bool finished() const { return source_->finished(state_.processes().living().size()); }
    const std::vector<Error>& refused() const { return session_.refused(); }
    // Since the last call: libraries that could not be followed, processes that block their readers, heap censuses that
    // needed too much memory, targets whose /dev/shm could not be found.
    std::vector<Error> take_refusals();
    // Null if growth is not recorded. The recorder lives as long as the collector. Any thread may call
    // GrowthRecorder::report().
    GrowthRecorder* growth() { return growth_.get(); }
    // The recorder lives as long as the collector. Any thread may call HeapRecorder::take().
    HeapRecorder& heap() { return *heap_; }
    const GpuProbeWatch& gpu_probes() const { return *gpu_probes_; }

  private:
    Collector(SysRoot root, const CgroupHierarchy& hierarchy, std::shared_ptr<ReadHelpers> reads, Session session,
              std::unique_ptr<TargetSource> source, const WatchOptions& options);

    Status watch_rings();
    Status follow_descendants(pid_t pid);
    void apply(const TreeEvent& event);
    void take_events();
    void watch_cuda_failures();

    void refresh_targets();
    void end_targets(const std::vector<CgroupId>& removed, const Now& now);
    Result<Snapshot> take_tick(const Now& began);
    void miss_tick();
    Result<std::uint64_t> scan_processes();
    Result<MachineReadings> read_machine();
    void follow_growth();
    void take_censuses(const Now& now);
    void read_lengths();
    void read_targets(const MachineReadings& machine, ReadingsByTarget& readings);
    SelfSample describe_self(const Now& now);
    DeathLookups lookups();

    SysRoot root_;
    std::shared_ptr<ReadHelpers> reads_;
    Session session_;
    // gpu_probes_ and host_tensors_ must outlive growth_, which reads them from other threads.
    std::unique_ptr<GpuProbeWatch> gpu_probes_;
    std::unique_ptr<HostTensorRecorder> host_tensors_{};
    std::unique_ptr<GrowthRecorder> growth_{};
    std::unique_ptr<NvmlWatch> gpus_{};  // null: switched off
    SharingRecorder sharing_;
    std::unique_ptr<HeapRecorder> heap_;
    MachineLookups machine_;
    EventPoll events_{};  // the file descriptors that take_events() reads
    std::unique_ptr<TargetSource> source_;
    RefreshSchedule refresh_;
    WatchState state_;
    DetailsReader details_{};
    TargetReader reader_;
    bool missed_target_ = false;  // at the last tick, a target was removed before it was read
    bool lost_target_ = false;    // as missed_target_, and not at the tick before that
    SelfReader self_{};
};

}  // namespace memscope
