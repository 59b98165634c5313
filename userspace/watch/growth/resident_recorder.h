#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "model/growth/live_samples.h"
#include "model/processes/process_table.h"
#include "model/snapshot.h"
#include "watch/helpers/read_jobs.h"

namespace memscope {

// Keeps the samples of anonymous pages of all watched processes, and checks periodically which of the pages still
// exist. Functions that are not marked "from any thread" belong to the thread of the ticks.
class ResidentRecorder {
  public:
    explicit ResidentRecorder(std::shared_ptr<ReadHelpers> reads) : reads_(std::move(reads)) {}

    // A sample is counted once the range events before it are known: ranges_drained() follows.
    void add(const GrowthSample& sample);
    void samples_drained(std::uint64_t time_ns);  // all samples up to this time were added
    void apply(const RangeEvent& event);
    void ranges_drained();
    void settle(const ProcessId& process);  // counts the last samples of an ended process at once
    void end(const ProcessId& process);
    void move_stacks(const LiveSamples::Moves& to, std::uint64_t now_ns);
    // Continues to check pages, within a share of one CPU.
    void tick(Seconds now, const std::map<pid_t, TrackedProcess>& processes);

    // From any thread.
    std::vector<HeldAtStack> held(const ProcessId& process) const;
    std::size_t sample_count(const std::vector<Process>& processes) const;
    std::map<StackId, std::int64_t> by_stack() const;
    // From any thread. Checks all pages of the processes now, and waits for the helper process. Does nothing if checks
    // have recently used more than their share of one CPU. checked_ns() returns the time of the last check.
    void check(const std::vector<Process>& processes);
    // From any thread. Boot clock: when the last complete check of the pages of the process began. `nullopt`: there was
    // none.
    std::optional<std::uint64_t> checked_ns(const ProcessId& process) const;
    // Largest number of samples of a target. bound() thins out the samples of the processes that have the most.
    static constexpr std::size_t kMostOfTarget = 65'536;
    void bound(const std::vector<Process>& processes);

  private:
    static constexpr double kShareOfCpu = 0.005;  // of all checks together
    static constexpr Seconds kAnswerAdvance{60};  // check() may run this long before next_check_
    static constexpr std::size_t kPagesPerJob = 4096;

    bool may_check(Seconds now) const;
    std::optional<PagesJob> next_job(const std::map<pid_t, TrackedProcess>& processes);
    enum class Piece { first, later };  // of the pages of a process
    void take(const PagesJob& job, Piece piece, const Result<PagesAnswer>& answer);
    // Checks of all pages of a process.
    struct Checks {
        std::uint64_t began_ns = 0;           // the current check
        std::optional<std::uint64_t> last{};  // when the last complete check began
    };

    std::shared_ptr<ReadHelpers> reads_;
    std::vector<GrowthSample> waiting_{};
    std::uint64_t drained_ns_ = 0;
    std::optional<PagesJob> job_{};
    Piece job_piece_{};
    ProcessId checked_{};  // the pages of this process below this address were checked last
    std::uint64_t checked_below_ = 0;
    std::uint64_t numbers_ = 0;
    mutable std::mutex mutex_{};
    LiveSamples samples_{};
    Seconds next_check_{};  // boot clock: an earlier check would exceed the share of CPU time
    std::map<ProcessId, Checks> checks_{};
};

}  // namespace memscope
