#pragma once
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "model/deaths/death_report.h"
#include "model/snapshot.h"
#include "recording/compression.h"
#include "recording/database.h"
#include "recording/store.h"

namespace memscope::recording {

// A recording that is being written: one database with one or more targets. All additions between two calls of commit()
// are one transaction.
class RecordingFile {
  public:
    // How long all ticks are kept. Of older ticks, only keyframes and bins stay.
    static constexpr Seconds kFull = std::chrono::hours(6);
    static constexpr Seconds kLeastFull = std::chrono::minutes(10);
    static constexpr Seconds kKeyframeEvery = std::chrono::minutes(1);
    static constexpr Seconds kBin{10};
    static constexpr Seconds kLastingGrowthEvery = std::chrono::hours(1);
    static constexpr Seconds kLastingHeapEvery = std::chrono::hours(6);
    // Number of commits between two checkpoints. A checkpoint copies the WAL to the database and takes three syncs; a
    // commit takes one sync.
    static constexpr std::uint64_t kCheckpointEvery = 5;
    static constexpr std::size_t kMostHeapBytes = std::size_t{4} << 20U;  // of a census, before compression

    // `began`: boot clock.
    static Result<RecordingFile> create(RecordingStore::NewFile file, const std::map<std::string, std::string>& meta,
                                        Seconds began);

    Result<std::int64_t> add_target(const TargetInfo& target);
    // `now`: boot clock. `target` is one of the targets of `snapshot`.
    Status add_tick(std::int64_t id, Seconds now, const Snapshot& snapshot, const TargetSnapshot& target);
    Status add_event(std::int64_t id, Seconds now, double time, std::string_view kind, std::string_view text);
    // `lasting`: keep it when older ticks are removed. One an hour is kept in any case.
    Status add_growth(std::int64_t id, Seconds now, double time, std::string_view reason, bool lasting,
                      std::string_view record);
    // The first census of each process, and then one in six hours, is kept when older ticks are removed.
    Status add_heap(std::int64_t id, Seconds now, const WholeCensus& census);
    // Replaces an earlier version of the same report.
    Status add_report(std::int64_t id, Seconds now, const DeathReport& report);
    // The target has ended. Writes its last bins and frees its memory here.
    Status end_target(std::int64_t id);

    // Makes everything added so far visible to readers, and safe against a power cut.
    Status commit();
    // After an error: forgets what was added since the last commit().
    void roll_back();
    // Bytes of the file that are in use. Freed pages are reused.
    Result<Bytes> used();
    // Frees space: keeps all ticks for half of the time, or removes the oldest keyframes.
    Status shrink();
    // Writes the last bins and makes the recording one file that can be read in a directory without write permission.
    Status close();

    const fs::path& path() const { return path_; }

  private:
    struct Range {
        std::int64_t series = 0;
        std::uint64_t low = 0;
        std::uint64_t high = 0;
    };
    struct Track {
        std::int64_t keyframe = 0;  // 0: the next tick becomes a keyframe
        Seconds keyframe_at{};
        std::string content{};          // of the keyframe
        std::size_t keyframe_size = 0;  // compressed
        std::int64_t bin = -1;          // number of the open bin
        std::map<std::string, Range> ranges{};
        std::optional<Seconds> lasting_growth{};      // when the last lasting growth was added
        std::map<ProcessId, Seconds> lasting_heap{};  // when the last lasting census was added, by process
    };
    // Ids of the rows that were the last ones at a moment.
    struct Rows {
        std::int64_t tick = 0;
        std::int64_t growth = 0;
        std::int64_t heap = 0;
    };
    struct Mark {
        Seconds at{};
        Rows last{};
    };

    RecordingFile(RecordingStore::NewFile file, Database database, Seconds began)
        : path_(std::move(file.path)), lock_(std::move(file.lock)), database_(std::move(database)), began_(began) {}

    Status begin();
    Status prepare();
    Status add_bins(std::int64_t id, Track& track, Seconds at, const Snapshot& snapshot, const TargetSnapshot& target);
    Status write_bins(std::int64_t id, Track& track);
    std::array<Statement*, 10> statements();
    Status thin(Seconds at);

    fs::path path_;
    Fd lock_;  // closed after the database: closing it releases the locks that SQLite holds
    Database database_;
    Statement insert_tick_{}, insert_event_{}, insert_growth_{}, insert_heap_{}, insert_report_{}, insert_series_{},
        insert_bin_{}, remove_ticks_{}, remove_growth_{}, remove_heap_{};
    Compressor compressor_{};
    Seconds began_;
    Seconds full_ = kFull;
    bool in_transaction_ = false;
    std::uint64_t commits_ = 0;
    std::map<std::int64_t, Track> tracks_{};
    std::deque<Mark> marks_{};  // one a minute, over the time for which all ticks are kept
    Rows last_{};
    Rows thinned_to_{};
};

// Memory that the target holds on each device, by UUID.
std::map<GpuId, Bytes> gpu_memory(const TargetSnapshot& target);

// The series of a target that have bins: "target", "usage", "role trainer 0", "gpu GPU-...", in bytes.
std::map<std::string, Bytes> recorded_series(const TargetSnapshot& target);

}  // namespace memscope::recording
