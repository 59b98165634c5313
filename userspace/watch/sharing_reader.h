#pragma once
#include <condition_variable>
#include <mutex>
#include <thread>

#include "analysis/read_schedule.h"
#include "base/files.h"
#include "model/page_sharing.h"

namespace memscope {

// Reads how processes share their pages, some at a time. On a thread of its own, for a large process takes longer than
// a tick should. Everything here belongs to the thread of the ticks.
class SharingReader {
  public:
    explicit SharingReader(SysRoot root) : root_(std::move(root)) {}
    SharingReader(const SharingReader&) = delete;
    SharingReader& operator=(const SharingReader&) = delete;
    ~SharingReader() = default;  // a read that is under way is waited for

    // Takes what was read since the last tick, and has those read who are next. `candidates` are sorted by id.
    void tick(std::uint64_t now_ns, const std::vector<ReadSchedule::Candidate>& candidates);
    const SharingReadings& readings() const { return readings_; }

  private:
    struct Outcome {
        ProcessId id{};
        ReadSchedule::Cost cost{};
        bool gone = false;
        SharingReading reading{};
    };

    void take(std::uint64_t now_ns);
    void run(const std::stop_token& stop);
    Outcome read_one(const ReadSchedule::Choice& choice) const;

    SysRoot root_;
    ReadSchedule schedule_{};
    SharingReadings readings_{};
    std::size_t awaited_ = 0;  // outcomes

    std::mutex mutex_{};  // of what follows
    std::condition_variable_any woken_{};
    std::vector<ReadSchedule::Choice> wanted_{};
    std::vector<Outcome> outcomes_{};

    // The last member: it ends before what it uses goes.
    std::jthread thread_{};  // begun with the first read: a thread keeps the privileges it began with
};

}  // namespace memscope
