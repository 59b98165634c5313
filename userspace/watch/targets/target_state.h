#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/limits/precursors.h"
#include "analysis/roles/rank_places.h"
#include "analysis/targets/job_runs.h"
#include "analysis/targets/target_judge.h"
#include "model/processes/nesting.h"
#include "model/processes/role_ledger.h"
#include "model/reclaim.h"
#include "model/snapshot.h"
#include "watch/clock.h"
#include "watch/heap/target_heap.h"
#include "watch/helpers/tick_reads.h"
#include "watch/sharing/target_sharing.h"
#include "watch/targets/target_source.h"

namespace memscope {

// How all targets are judged.
struct TargetSettings {
    Seconds warmup = std::chrono::minutes(20);
    TrendSettings trend{};
    PrecursorSettings precursors{};
    Seconds keep_ranks = RankPlaces::kKeep;
    Bytes page{4096};  // of this machine
    // Between two heap censuses of a process while it leaks.
    Seconds heap_while_leaking = 3 * CensusSchedule::kAgain;
};

// The deaths of one target: those that no tick has shown yet, and the sums of all.
class TargetDeaths {
  public:
    void add(Death death) {
        tally_.add(death);
        if (death.news) last_news_ = death;
        since_tick_.push_back(std::move(death));
    }
    // Moves the deaths since the last call into `out`, and copies the sums.
    void hand_over(TargetSnapshot& out) {
        out.deaths = std::exchange(since_tick_, {});
        out.death_tally = tally_;
        out.last_death = last_news_;
    }

  private:
    std::vector<Death> since_tick_{};
    DeathTally tally_{};
    std::optional<Death> last_news_{};  // the latest death that was not teardown
};

// The CUDA calls of one target that failed for lack of memory, by role and device. They stay counted after the process
// has ended.
class CudaFailures {
  public:
    void add(const RoleKey& role, const GpuId& device, std::uint64_t failures) { counts_[{role, device}] += failures; }
    void fold_rank(const RoleKey& role);  // as RoleLedger::fold_rank()
    void describe(TargetSnapshot& out) const;

  private:
    std::map<TargetGpu::RoleDevice, std::uint64_t> counts_{};
};

// The state of one target that the stages of a tick keep. It is dropped when the target ends. CONTRIBUTING.md ("A
// tick") lists the classes that keep something by the name of a target as well.
struct TargetState {
    TargetState(NewTarget target, const TargetSettings& settings, std::shared_ptr<RunNumbers> numbers);
    TargetState(const TargetState&) = delete;
    TargetState& operator=(const TargetState&) = delete;

    // The pair of role and rank has lost its series. Adds its counters to the role without a rank, and drops its
    // judgement.
    void fold_rank(const RoleKey& role);
    // The current precursors of an OOM kill. `out` already has its memory, shared memory, stalls and verdicts, and
    // `judge` has considered it.
    std::vector<Precursor> find_precursors(const TargetSnapshot& out, const HostMemory& host, const Now& now);
    // Keeps `out` as the last values of the target, without its processes and deaths.
    void remember(TargetSnapshot& out);

    const CgroupId id;
    const TargetInfo info;

    // How the target is read.
    std::unique_ptr<TargetMemory> memory;  // null: its readings are replayed
    ShmUsageReader shm{};
    std::size_t process_count = 0;  // at the last tick

    // Counted since watching of the target began.
    RoleLedger counters{};
    CudaFailures cuda_failures{};
    StallCounter stalls{};
    TargetDeaths deaths{};

    // Derived from earlier ticks.
    RankPlaces ranks;  // used while the target is an outermost one
    JobRuns runs;
    TargetSharing sharing;
    TargetHeap heap;
    TargetJudge judge;
    Precursors precursors;
    TargetSnapshot last_shown{};  // at the last tick that showed the target
};

// All targets, and which of them lies inside which.
class WatchedTargets {
  public:
    using Map = std::map<CgroupId, TargetState>;

    explicit WatchedTargets(const TargetSettings& settings = {}) : settings_(settings) {}

    TargetState& add(NewTarget target);
    void drop(CgroupId id);  // targets inside it are then inside the enclosing target

    Map& all() { return targets_; }
    const Map& all() const { return targets_; }
    TargetState* find(CgroupId id);
    const Nesting& nesting() const { return nesting_; }
    // The targets around a process, innermost first, given the innermost. Empty for kNoCgroup.
    std::vector<TargetState*> around(CgroupId innermost);
    TargetState* outermost(CgroupId innermost);  // the outermost of these targets; null: there is none
    std::vector<RoleLedger*> ledgers_around(CgroupId innermost);

    RunNumbers& run_numbers() { return *run_numbers_; }

  private:
    TargetSettings settings_;
    std::shared_ptr<RunNumbers> run_numbers_ = std::make_shared<RunNumbers>();
    Map targets_{};
    Nesting nesting_{};
};

}  // namespace memscope
