#pragma once
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/deaths/death_report.h"
#include "model/growth/growth.h"
#include "model/snapshot.h"
#include "recording/compression.h"
#include "recording/database.h"

namespace memscope {

struct RecordedTarget {
    std::int64_t id = 0;
    TargetInfo info{};
};
struct RecordedSample {
    Seconds at{};     // since the recording began, on a clock that never jumps
    double time = 0;  // seconds since 1970
    Bytes bytes{};    // judged memory
    Bytes usage{};
    std::uint64_t processes = 0;
};
// The position of a tick in a recording. tick() reads the tick.
struct RecordedMoment {
    std::int64_t id = 0;
    Seconds at{};
    double time = 0;
};
// The position of a heap census in a recording. census() reads the census.
struct RecordedCensus {
    std::int64_t id = 0;
    double time = 0;  // when it was taken
    pid_t pid = 0;
};
struct RecordedEvent {
    Seconds at{};
    double time = 0;
    std::string kind{};  // "verdict", "precursor", "precursor_over", "death", "notice", "action", "end"
    std::string text{};  // any bytes
};
struct RecordedBin {
    Seconds at{};
    Bytes low{};
    Bytes high{};
};
// A part of a recording, in seconds since the recording began.
struct RecordedSpan {
    Seconds from{-std::numeric_limits<double>::infinity()};
    Seconds to{std::numeric_limits<double>::infinity()};
};

// A recording, opened for reading, also while a watcher writes it. The file is not trusted: the reader checks that its
// tables are those of memscope and bounds all that it reads.
class Recording {
  public:
    static Result<Recording> open(const fs::path& path);

    const fs::path& path() const { return path_; }
    const std::map<std::string, std::string>& meta() const { return meta_; }
    const std::vector<RecordedTarget>& targets() const { return targets_; }
    // The only target, or the target with that name.
    Result<RecordedTarget> target(const std::optional<std::string>& name) const;
    double began() const { return began_; }  // seconds since 1970

    // `take` returns false to end the reading.
    Status each_sample(const RecordedTarget& target, const RecordedSpan& span,
                       const std::function<bool(const RecordedSample&)>& take);
    Status each_tick(const RecordedTarget& target, const RecordedSpan& span,
                     const std::function<bool(const RecordedSample&, Snapshot)>& take);
    // All ticks in the order in which they were recorded. At most 4 million: the first ones.
    Result<std::vector<RecordedMoment>> tick_index(const RecordedTarget& target);
    // One tick, by the id that tick_index() returned. An error if the watcher has removed it since.
    Result<Snapshot> tick(const RecordedTarget& target, std::int64_t id);
    // The last tick at or before a time in seconds since 1970; the first tick if all are later. None: it has no tick.
    Result<std::optional<RecordedMoment>> tick_before(const RecordedTarget& target, double time);
    // The position in the recording of a time in seconds since 1970. The clock may have been set while the recording
    // was written. If the clock showed the time twice, the result is the later position. If the clock skipped the time,
    // the result is the next tick.
    Result<Seconds> place_of(const RecordedTarget& target, double time);
    // At most 100,000: the first ones.
    Result<std::vector<RecordedEvent>> events(const RecordedTarget& target);
    // The last recorded growth.
    Result<std::optional<Growth>> last_growth(const RecordedTarget& target);
    // The last growth that was recorded at or before that time.
    Result<std::optional<Growth>> growth_at(const RecordedTarget& target, Seconds at);
    // The last growth that was recorded at or before a time in seconds since 1970.
    Result<std::optional<Growth>> growth_before(const RecordedTarget& target, double time);
    // When growth was recorded, in seconds since 1970. At most 100,000: the first ones.
    Result<std::vector<double>> growth_times(const RecordedTarget& target);
    // The growth of the target at its peak, since watching began. It is recorded when the target has reached a new
    // peak, and at its end.
    Result<std::optional<Growth>> peak_growth(const RecordedTarget& target);
    Result<std::map<std::string, std::vector<RecordedBin>>> bins(const RecordedTarget& target);
    // Heap censuses with all their objects, in the order in which they were taken. At most 10,000: the first ones.
    Status each_census(const RecordedTarget& target, const RecordedSpan& span,
                       const std::function<bool(Seconds at, WholeCensus)>& take);
    // In the order in which they were taken. At most 100,000: the first ones.
    Result<std::vector<RecordedCensus>> census_index(const RecordedTarget& target);
    // One census, by the id that census_index() returned. An error if the watcher has removed it since.
    Result<WholeCensus> census(const RecordedTarget& target, std::int64_t id);
    // Death reports in the order of the deaths. At most 1,000: the first ones.
    Status each_report(const RecordedTarget& target, const std::function<bool(Seconds at, DeathReport)>& take);
    // Writes a copy of all that is committed to the file, which must exist and be empty. This works also while a
    // watcher writes the recording. The copy is one file that no process writes.
    Status copy_to(const fs::path& file);

  private:
    Recording(fs::path path, recording::Database database) : path_(std::move(path)), database_(std::move(database)) {}
    Status read_head();
    Status check_tables();
    Error about_file(const Error& error) const;
    Result<std::string> keyframe(std::int64_t id);
    // `until`: the second parameter of the statement.
    Result<std::optional<Growth>> growth_row(const char* sql, const RecordedTarget& target, double until);
    Result<WholeCensus> census_of(std::string_view compressed);
    // The columns `first` and after it are id, base and record.
    Result<Snapshot> snapshot_of(const recording::Statement& row, int first);

    fs::path path_;
    recording::Database database_;
    recording::Decompressor decompressor_{};
    std::map<std::string, std::string> meta_{};
    std::vector<RecordedTarget> targets_{};
    double began_ = 0;
    std::int64_t keyframe_ = 0;  // id of the last decompressed keyframe, and its content
    std::string content_{};
};

// True if the file begins as an SQLite database does.
bool looks_like_recording(const fs::path& path);

}  // namespace memscope
