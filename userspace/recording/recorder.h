#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "model/snapshot.h"
#include "outputs/text/notices.h"
#include "recording/recording_file.h"
#include "recording/store.h"

namespace memscope {

// Writes every tick to recordings, on a thread of its own. A tick is never delayed: if the queue is full, the whole
// tick is dropped and counted. An error is reported once, and writing is tried again later.
class Recorder {
  public:
    // Databases that are open at a time. One of them is shared by small targets.
    static constexpr std::size_t kMostFiles = 32;
    // From this number of targets on, a new target is first recorded in the shared file. It gets a file of its own when
    // it has held 64 MiB or lived for a minute, and a file is free.
    static constexpr std::size_t kSeparateTargets = 8;
    static constexpr Bytes kSmall{std::uint64_t{64} << 20U};
    static constexpr Seconds kShort{60};
    static constexpr Seconds kSharedEvery{10};  // time between the recorded ticks of a target in the shared file
    static constexpr Seconds kCommitEvery{2};
    static constexpr Seconds kGrowthEvery{60};
    static constexpr Seconds kSharedGrowthEvery{600};  // of a target in the shared file that has held 64 MiB
    static constexpr Seconds kDeathGrowthEvery{1};     // deaths of one tree come in several ticks
    static constexpr Seconds kRetryAfter{10};
    static constexpr std::size_t kMostQueued = 16;                     // ticks
    static constexpr Bytes kMostQueuedBytes{std::uint64_t{4} << 20U};  // estimated; one tick is always admitted

    static constexpr std::size_t kMostReports = 20;  // as many as the watcher writes at once

    // Called on the thread of the recorder. `nullopt`: not known.
    using GrowthOf = std::function<std::optional<Growth>(const TargetSnapshot&)>;

    struct Settings {
        std::map<std::string, std::string> meta{};  // version, options
        GrowthOf growth{};
        GrowthOf peak_growth{};               // since watching began, as it was when the target held most
        std::function<void()> stop_growth{};  // makes `growth` return soon; finish() calls it after its patience
    };
    Recorder(RecordingStore store, Settings settings);
    ~Recorder();
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;

    void take(SnapshotPtr snapshot, Seconds now);  // `now`: boot clock
    // An event that is not part of a snapshot, for all targets: a command that was run, a report that was written.
    void note(std::string kind, std::string text);
    // A report of deaths, to be recorded with the next tick, or by finish() after the last tick. The same report again
    // replaces the earlier version. A report that cannot be written is kept and tried again, kMostReports at most.
    void report(std::shared_ptr<const DeathReport> report);
    // Writes the queued ticks and closes all files. After `patience` it drops the rest of the queue, calls
    // Settings::stop_growth, and waits only for the write that is under way.
    void finish(Seconds patience);

    std::uint64_t dropped() const;
    bool up() const;      // the last write succeeded
    Bytes bytes() const;  // of all recordings in the directory
    std::vector<Error> take_troubles();
    // The file with the latest ticks of the target. Empty: it is not recorded, or its first tick was not written yet.
    std::string file_of(const std::string& target) const;

  private:
    struct Note {
        std::string kind{};
        std::string text{};
    };
    struct Item {
        SnapshotPtr snapshot{};
        Seconds now{};
        Bytes size{};
        std::vector<Note> notes{};
        std::vector<std::shared_ptr<const DeathReport>> reports{};
    };
    // A report that is not committed yet.
    struct UnsavedReport {
        std::shared_ptr<const DeathReport> report{};
        bool written = false;  // in the transaction that is open
        bool failed = false;   // its transaction was rolled back
    };
    // The part of a recording file that belongs to one target. Small targets share one file.
    struct TargetTrack {
        recording::RecordingFile* file = nullptr;  // null: not recorded
        std::int64_t id = 0;                       // of the target in the file
        bool shared = false;                       // the file belongs to several targets
        bool fresh = true;                         // its row in the file is not committed yet
        Seconds began{};
        Seconds recorded{};                              // last tick in the file
        Seconds growth_at{};                             // when its growth was last written
        Bytes most{};                                    // largest judged memory so far
        Bytes peak{};                                    // `most` when the growth at the peak was last written
        std::map<ProcessId, double> censuses{};          // time of the last recorded census, by process
        std::shared_ptr<const TargetSnapshot> before{};  // at the previous tick
    };

    void work();
    void write(const Item& item);
    void write_rest(Item rest);
    Status write_notes(const TargetTrack& track, const Item& item);
    Status write_target(const Item& item, const TargetSnapshot& target, const std::vector<std::string>& lines);
    Status write_events(TargetTrack& track, const Item& item, const TargetSnapshot& target);
    Status write_growth(TargetTrack& track, const TargetSnapshot& target, Seconds now, double time,
                        std::string_view reason);
    Status write_heap(TargetTrack& track, const Item& item, const TargetSnapshot& target);
    void take_reports(const Item& item);
    Status write_reports(const Item& item);
    Status write_report(const Item& item, UnsavedReport& unsaved);
    Result<TargetTrack*> track_of(const Item& item, const TargetSnapshot& target);
    Result<recording::RecordingFile*> new_file(const std::string& target, Seconds now, double time);
    Status end_track(const std::string& name, Seconds now, double time);
    Status commit();
    void close_all();
    Status keep_bounds();
    void fail(const Error& error, Seconds now);
    void forget_fresh_tracks();
    void note_path(const std::string& target, const fs::path& path);

    // Only the thread of the recorder uses these.
    RecordingStore store_;
    Settings settings_;
    std::vector<std::unique_ptr<recording::RecordingFile>> files_{};
    recording::RecordingFile* shared_ = nullptr;
    std::map<std::string, TargetTrack> tracks_{};
    std::vector<UnsavedReport> unsaved_{};
    std::size_t seen_ = 0;  // targets so far
    NoticeWriter notices_{};
    SnapshotPtr before_{};
    Seconds before_at_{};              // boot clock: time of before_
    Seconds bounded_{};                // when the total size was last read
    Seconds committed_{};              // boot clock of the tick of the last commit
    std::uint64_t uncommitted_ = 0;    // ticks
    std::optional<Seconds> failed_{};  // when writing failed
    bool reported_one_target_ = false;

    mutable std::mutex mutex_{};  // guards the members below
    std::condition_variable wake_{};
    std::condition_variable done_{};
    std::deque<Item> queue_{};
    Bytes queued_{};
    std::vector<Note> notes_{};
    std::vector<std::shared_ptr<const DeathReport>> reports_{};
    std::vector<Error> troubles_{};
    std::map<std::string, std::string> paths_{};  // of targets, also of some that have ended
    std::uint64_t dropped_ = 0;
    bool up_ = true;
    Bytes bytes_{};
    bool ending_ = false;
    bool ended_ = false;
    std::thread thread_{};
};

}  // namespace memscope
