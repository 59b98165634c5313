#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "outputs/http/http_message.h"
#include "web/recorded_run.h"
#include "web/run_state.h"

namespace memscope::web {

// Sends a request to the watcher of the target: a path with its query, and the timeout.
using AskWatcher = std::function<Result<HttpResponse>(const std::string& path_and_query, Seconds patience)>;

// An answer for the page: the data as JSON, or JSON with a sentence that says why there is no data.
struct PageAnswer {
    int status = 200;
    std::string json{};
};

// The data of the page, from a recording or from a running watcher. Any thread may call the functions that return a
// PageAnswer. PageData has a thread that reads the older ticks. With a watcher it has another thread that polls the
// watcher once per tick.
class PageData {
  public:
    static constexpr std::size_t kMostLiveTicks = 120;  // in one answer
    static constexpr std::size_t kLeastBins = 16;
    static constexpr std::size_t kMostBins = 4000;
    // Bytes of the encoded ticks of a watcher that are kept in memory. Older ticks are read from its recording.
    static constexpr std::size_t kMostKeptBytes = std::size_t{32} << 20U;

    // of_recording() and of_watcher() read the outline of the recording and open all files. No thread runs before
    // start().
    static Result<std::unique_ptr<PageData>> of_recording(RecordedRun recorded);
    // `recorded`: the recording that the watcher writes. `history`: a sentence that says why there is no such
    // recording, else empty.
    static Result<std::unique_ptr<PageData>> of_watcher(AskWatcher ask, const std::string& target,
                                                        std::optional<RecordedRun> recorded, std::string history);
    ~PageData();
    PageData(const PageData&) = delete;
    PageData& operator=(const PageData&) = delete;
    void start();

    PageAnswer run() const;
    PageAnswer curves(std::optional<double> from, std::optional<double> to, std::size_t width) const;
    PageAnswer tick(std::optional<double> at) const;
    PageAnswer growth(std::optional<double> at, const std::string& since) const;
    PageAnswer heap(std::optional<double> at, bool take) const;
    PageAnswer live(double after) const;

    // Adds a tick that the watcher has sent, as bytes (record/record.h). Returns false if it is not newer than the last
    // one. Called by the thread that polls the watcher. Public for tests.
    Result<bool> take_record(std::string record);
    // Requests the latest tick of the watcher. An error if the watcher does not answer or does not have this target.
    Result<bool> poll();

  private:
    struct Kept {
        double time = 0;
        std::string record{};
    };

    PageData() = default;
    Status begin_with_watcher();
    void read_history();
    void follow_watcher();
    void take_growth_times();
    void add_live(const SnapshotPtr& snapshot);
    PageAnswer from_watcher(const std::string& path_and_query, Seconds patience) const;

    AskWatcher ask_{};  // empty: a recording
    std::string watched_{};
    std::optional<RecordedRun> recorded_{};
    double until_ = 0;  // the recording is read up to this time; later ticks come from the watcher

    mutable std::mutex mutex_{};  // guards the members below
    RunState run_{};
    std::deque<Figures> recent_{};  // ticks of the watcher, oldest first
    std::deque<Kept> kept_{};
    std::size_t kept_bytes_ = 0;
    double growth_times_read_ = 0;  // time of the tick

    std::mutex stop_mutex_{};
    std::condition_variable stop_wake_{};
    std::atomic<bool> stop_ = false;
    std::thread history_{};
    std::thread follower_{};
};

}  // namespace memscope::web
