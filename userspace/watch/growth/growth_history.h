#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/growth/growth_sentence.h"
#include "base/units.h"
#include "model/growth/growth.h"
#include "model/growth/growth_request.h"
#include "watch/growth/call_sites.h"

namespace memscope {

// Memory at a stack whose names a helper process has not read yet.
struct UnnamedAtStack {
    HeldAtStack held{};
    RoleKey role{};
};

// One plane of a target before its native code is symbolized.
struct SitePlane {
    std::vector<SiteGrowth> sites{};
    std::vector<UnattributedGrowth> unattributed{};
    std::vector<UnnamedAtStack> unnamed{};  // the stacks of the unattributed growth that is `pending`
};
struct SitePlanes {
    std::array<SitePlane, kPlanes> planes{};
    std::int64_t file_mapped_bytes = 0;
    std::int64_t reserved_bytes = 0;
    HostTensorRecording host_tensors{};
    SitePlane& plane(PlaneKind kind) { return planes[static_cast<std::size_t>(kind)]; }
    const SitePlane& plane(PlaneKind kind) const { return planes[static_cast<std::size_t>(kind)]; }
};

// Identifies a line of Python in all processes, and across the life of processes.
enum class LineId : std::uint64_t {};
LineId line_id(const PythonFrame& frame);

// Earlier growth of one target by call site, to answer what has grown since an earlier time and what was held at the
// peak. A snapshot has the size of each call site and the hash of its names, but no process: if a process ends and its
// successor grows at the same call sites, their series continue. Memory: at most 25 snapshots of 512 sites in each
// plane, at most 40 bytes each (2.5 MiB for a target with that many sites in all five planes). Only the peak has call
// sites with their names: see kMostPeakNames.
class GrowthHistory {
  public:
    static constexpr std::size_t kMostSnapshots = 24;  // and the one at the end of the warm-up
    static constexpr std::size_t kMostSites = 512;     // of each plane in a snapshot; the others are one sum
    static constexpr std::size_t kMostPeakNames = std::size_t{1} << 20U;  // bytes of the names of one peak
    static constexpr Seconds kEvery = std::chrono::minutes(1);
    static constexpr Seconds kFine = std::chrono::minutes(15);  // older snapshots are further apart
    static constexpr Seconds kOldest = std::chrono::hours(24);
    static constexpr double kNewPeak = 1.05;    // factor; a smaller maximum is not stored at once
    static constexpr double kStillPeak = 0.99;  // factor; a target that holds this much is still at its peak
    // If a peak lasts, it is stored again after this time, because by then the checks of pages have found the pages
    // that were freed before the peak.
    static constexpr Seconds kPeakAgain{10};

    // The target at a tick.
    struct Moment {
        Seconds now{};    // boot clock
        double wall = 0;  // seconds since 1970
        RunId run = kNoRun;
        Bytes held{};                           // memory that counts against the limit
        std::optional<Seconds> warmup_ended{};  // boot clock; none: no warm-up has ended
    };

    // Called at each tick. True if add() is to be called for this moment. A new run of the job has no history.
    bool is_due(const Moment& moment);
    void add(const Moment& moment, const SitePlanes& planes);
    // Called at each tick: names of call sites can arrive after the peak was stored.
    void name_peak(const CallSites& sites);

    // Turns the growth since watching began into the growth of the time that was requested.
    GrowthSpan apply(const GrowthRequest& request, const Moment& moment, SitePlanes& planes) const;
    // `nullopt`: the history covers less than two minutes.
    std::optional<LineTrend> trend(PlaneKind plane, LineId line, const RoleKey& role) const;

    std::size_t snapshot_count() const { return snapshots_.size(); }
    std::size_t bytes() const;       // of the snapshots
    std::size_t peak_names() const;  // bytes of the names of the peak
    double peak_time() const { return peak_ ? peak_->wall : 0; }
    void forget_peak() { peak_.reset(); }

  private:
    struct Entry {
        std::uint64_t site = 0;  // hash
        LineId line{};
        RoleKey role{};
        std::int64_t bytes = 0;
        auto key() const { return std::tie(site, role); }
    };
    struct Plane {
        std::vector<Entry> entries{};  // by key
        std::int64_t rest = 0;         // of the sites that have no entry
        std::vector<UnattributedGrowth> unattributed{};
    };
    struct Snapshot {
        Seconds at{};  // boot clock
        std::array<Plane, kPlanes> planes{};
        std::int64_t file_mapped_bytes = 0;
        std::int64_t reserved_bytes = 0;
    };
    using SnapshotPtr = std::shared_ptr<const Snapshot>;
    struct Peak {
        Seconds at{};
        double wall = 0;
        Bytes held{};         // the highest value at which it was stored
        bool lasted = false;  // it was stored once more
        SitePlanes planes{};  // the largest sites of each plane
    };

    static Plane condensed(const SitePlane& plane);
    static void subtract(const Plane& then, SitePlane& plane);
    bool is_peak(Bytes held) const;
    bool is_lasting_peak(const Moment& moment) const;
    void store_peak(const Moment& moment, const SitePlanes& planes);
    void thin_out(Seconds now);
    void mark_warmup(const std::optional<Seconds>& ended);
    const Snapshot* nearest(Seconds at) const;

    RunId run_ = kNoRun;
    std::optional<Seconds> began_{};       // boot clock
    std::deque<SnapshotPtr> snapshots_{};  // oldest first
    SnapshotPtr warmup_{};
    std::optional<Peak> peak_{};
};

// The histories of all targets, by name.
class GrowthHistories {
  public:
    static constexpr std::size_t kMostPeakNames = std::size_t{16} << 20U;  // bytes, of all targets together

    GrowthHistory& of(const std::string& target) { return targets_[target]; }
    const GrowthHistory* find(const std::string& target) const;
    void keep_only(const std::set<std::string>& targets);
    void name_peaks(const CallSites& sites);
    // If the peaks of all targets have too many names: forgets the oldest peaks.
    void bound_peaks();

  private:
    std::map<std::string, GrowthHistory> targets_{};
};

}  // namespace memscope
