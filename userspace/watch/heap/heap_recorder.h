#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "analysis/heap/census_schedule.h"
#include "base/fd.h"
#include "model/processes/process_table.h"
#include "watch/helpers/read_jobs.h"

namespace memscope {

// Lets a helper process take heap censuses, one at a time, because a census takes longer than a tick should, and
// because a process can block its reader for ever. Everything except take() and stop_waiting() belongs to the thread of
// the ticks.
class HeapRecorder {
  public:
    // `nullopt`: not answered yet, ask again.
    using Read = std::function<std::optional<Result<HeapCensus>>(const HeapJob&)>;
    // Adds names that only the watcher knows to a census.
    using Complete = std::function<void(HeapCensus&)>;
    // `again`: the shortest time between two censuses of a process that memscope takes by itself.
    // `cores`: of the machine, on which the budget depends.
    explicit HeapRecorder(Read read, Complete complete, Seconds again = CensusSchedule::kAgain, unsigned cores = 1);

    void want(Seconds now, const std::vector<CensusWish>& wishes);
    // Takes the answer of the helper, and requests the next census. Called once per tick, and when fd() or the helper's
    // descriptor is readable.
    void pump(Seconds now, const ProcessTable::Living& living);
    // The censuses that have been taken since the last call.
    std::vector<HeapCensus> take_taken() { return std::exchange(taken_, {}); }

    // Errors of censuses that memscope wanted by itself and that needed more memory than the helper may use, once for
    // each process. The helper's ProcessReader reports other failures, or the process has ended.
    std::vector<Error> take_troubles() { return std::exchange(troubles_, {}); }

    bool is_taking() const { return current_.has_value(); }  // the helper is busy with a census

    int fd() const { return asked_.get(); }  // readable when another thread has asked for a census

    // From any thread: takes censuses of these processes before those that memscope wants by itself, and returns when
    // they are complete. Errors: ETIMEDOUT if that takes too long, ESRCH if a process has ended, EBUSY if there are too
    // many requests, ECANCELED after stop_waiting().
    std::vector<Result<HeapCensus>> take(const std::vector<ProcessId>& processes);
    void stop_waiting();  // take() fails from now on

  private:
    struct Request {
        ProcessId process{};
        std::optional<Result<HeapCensus>> answer{};
    };
    struct Current {
        HeapJob job{};
        ProcessId process{};
        Bytes anon{};
        std::shared_ptr<Request> request{};  // null: memscope wanted the census
    };

    void begin_next(Seconds now, const ProcessTable::Living& living);
    bool finish(Seconds now, const ProcessTable::Living& living);
    void answer(const std::shared_ptr<Request>& request, Result<HeapCensus> answer);

    Read read_;
    Complete complete_;
    CensusSchedule schedule_;
    std::optional<Current> current_{};
    std::vector<HeapCensus> taken_{};
    std::vector<Error> troubles_{};
    std::set<ProcessId> reported_{};  // processes in `troubles_`, now or before
    std::uint64_t jobs_ = 0;

    Fd asked_;  // an eventfd
    std::atomic<bool> has_requests_ = false;
    std::mutex mutex_{};  // guards the members below
    std::condition_variable answered_{};
    std::deque<std::shared_ptr<Request>> requests_{};
    bool stopped_ = false;
};

}  // namespace memscope
