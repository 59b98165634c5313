#include "watch/growth/growth_history.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analysis/growth/attribution.h"

namespace memscope {
namespace {

// FNV-1a with 64 bits. Names are separated by their lengths.
class Hash {
  public:
    void add(std::uint64_t number) {
        for (int i = 0; i < 8; ++i) byte(static_cast<unsigned char>(number >> (8U * static_cast<unsigned>(i))));
    }
    void add(std::string_view text) {
        add(text.size());
        for (const char c : text) byte(static_cast<unsigned char>(c));
    }
    void add(const PythonFrame& frame) {
        add(frame.function);
        add(frame.file);
        add(static_cast<std::uint64_t>(frame.line));
    }
    std::uint64_t value() const { return value_; }

  private:
    void byte(unsigned char c) { value_ = (value_ ^ c) * 0x100000001b3U; }
    std::uint64_t value_ = 0xcbf29ce484222325U;
};

std::uint64_t site_hash(const CallSite& site) {
    Hash hash;
    hash.add(site.python.size());
    for (const PythonFrame& frame : site.python) hash.add(frame);
    for (const NativeLocation& location : site.native) {
        if (location.module) hash.add(location.module->name());
        hash.add(location.offset);
    }
    return hash.value();
}

// Hashes each call site once, because a target has many processes with the same sites.
class SiteHashes {
  public:
    std::uint64_t of(const CallSitePtr& site) {
        const auto [found, is_new] = known_.try_emplace(site.get());
        if (is_new) found->second = site_hash(*site);
        return found->second;
    }

  private:
    std::unordered_map<const CallSite*, std::uint64_t> known_{};
};

LineId line_of(const CallSite& site, std::uint64_t hash) {
    const PythonFrame* own = own_frame(site.python);
    return own ? line_id(*own) : LineId{hash};
}

void add_to(std::vector<UnattributedGrowth>& list, const char* reason, std::int64_t bytes) {
    if (bytes == 0) return;
    const auto known = std::ranges::find(list, reason, &UnattributedGrowth::reason);
    if (known == list.end())
        list.push_back({reason, bytes});
    else
        known->bytes += bytes;
}

bool is_larger(const SiteGrowth& a, const SiteGrowth& b) { return a.bytes > b.bytes; }

// The largest sites with their names, as far as they fit.
SitePlane largest(const SitePlane& plane, std::size_t& names) {
    SitePlane kept = plane;
    std::stable_sort(kept.sites.begin(), kept.sites.end(), is_larger);
    std::size_t count = 0;
    for (; count < std::min(kept.sites.size(), GrowthHistory::kMostSites); ++count) {
        const std::size_t more = name_bytes(*kept.sites[count].site);
        if (names + more > GrowthHistory::kMostPeakNames) break;
        names += more;
    }
    std::int64_t rest = 0;
    for (std::size_t i = count; i < kept.sites.size(); ++i) rest += kept.sites[i].bytes;
    kept.sites.resize(count);
    kept.sites.shrink_to_fit();
    add_to(kept.unattributed, "smaller_sites", rest);
    return kept;
}

}  // namespace

LineId line_id(const PythonFrame& frame) {
    Hash hash;
    hash.add(frame);
    return LineId{hash.value()};
}

GrowthHistory::Plane GrowthHistory::condensed(const SitePlane& plane) {
    SiteHashes hashes;
    std::map<std::pair<std::uint64_t, RoleKey>, Entry> sums;
    for (const SiteGrowth& one : plane.sites) {
        const std::uint64_t hash = hashes.of(one.site);
        Entry& entry =
            sums.try_emplace({hash, one.role}, Entry{hash, line_of(*one.site, hash), one.role, 0}).first->second;
        entry.bytes += one.bytes;
    }
    std::vector<Entry> entries;
    entries.reserve(sums.size());
    for (const auto& [key, entry] : sums)
        if (entry.bytes != 0) entries.push_back(entry);
    Plane result{.unattributed = plane.unattributed};
    if (entries.size() > kMostSites) {
        const auto last = entries.begin() + static_cast<std::ptrdiff_t>(kMostSites);
        std::nth_element(entries.begin(), last, entries.end(),
                         [](const Entry& a, const Entry& b) { return a.bytes > b.bytes; });
        for (auto entry = last; entry != entries.end(); ++entry) result.rest += entry->bytes;
        entries.erase(last, entries.end());
        std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.key() < b.key(); });
    }
    entries.shrink_to_fit();
    result.entries = std::move(entries);
    return result;
}

bool GrowthHistory::is_peak(Bytes held) const {
    return !peak_ || static_cast<double>(held.n) > kNewPeak * static_cast<double>(peak_->held.n);
}

// True if the peak must be stored again. That is never the case before kPeakAgain has passed. Then it is stored each
// time the target has risen above it (by less than kNewPeak), and once if the target has only stayed near it.
bool GrowthHistory::is_lasting_peak(const Moment& moment) const {
    if (!peak_ || moment.now - peak_->at < kPeakAgain) return false;
    if (moment.held > peak_->held) return true;
    return !peak_->lasted && static_cast<double>(moment.held.n) >= kStillPeak * static_cast<double>(peak_->held.n);
}

bool GrowthHistory::is_due(const Moment& moment) {
    if (!began_ || run_ != moment.run) *this = {};
    run_ = moment.run;
    if (!began_) began_ = moment.now;
    mark_warmup(moment.warmup_ended);
    return snapshots_.empty() || moment.now - snapshots_.back()->at >= kEvery || is_peak(moment.held) ||
           is_lasting_peak(moment);
}

void GrowthHistory::store_peak(const Moment& moment, const SitePlanes& planes) {
    const bool is_new = is_peak(moment.held);
    if (!is_new && !is_lasting_peak(moment)) return;
    Peak peak{.at = moment.now, .wall = moment.wall, .held = moment.held, .lasted = !is_new};
    if (peak_) peak.held = std::max(peak.held, peak_->held);  // a lasting peak may be 1 % lower
    peak.planes.file_mapped_bytes = planes.file_mapped_bytes;
    peak.planes.reserved_bytes = planes.reserved_bytes;
    std::size_t names = 0;
    for (std::size_t i = 0; i < kPlanes; ++i) peak.planes.planes[i] = largest(planes.planes[i], names);
    peak_ = std::move(peak);
}

void GrowthHistory::name_peak(const CallSites& sites) {
    if (!peak_) return;
    bool changed = false;
    for (SitePlane& plane : peak_->planes.planes) {
        const auto is_settled = [&](const UnnamedAtStack& each) {
            const CallSitePtr* site = sites.site_of(each.held.stack);
            if (!site && sites.expects_names(each.held.stack)) return false;
            if (site)
                plane.sites.push_back(growth_at(*site, each.held, each.role));
            else
                add_to(plane.unattributed, "unknown_stack", each.held.bytes);
            add_to(plane.unattributed, "pending", -each.held.bytes);
            return true;
        };
        if (std::erase_if(plane.unnamed, is_settled) > 0) changed = true;
    }
    if (!changed) return;
    std::size_t names = 0;
    for (SitePlane& plane : peak_->planes.planes) {
        std::erase_if(plane.unattributed, [](const UnattributedGrowth& each) { return each.bytes == 0; });
        plane = largest(plane, names);
    }
}

void GrowthHistory::add(const Moment& moment, const SitePlanes& planes) {
    store_peak(moment, planes);
    if (!snapshots_.empty() && moment.now - snapshots_.back()->at < kEvery) return;
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->at = moment.now;
    for (std::size_t i = 0; i < kPlanes; ++i) snapshot->planes[i] = condensed(planes.planes[i]);
    snapshot->file_mapped_bytes = planes.file_mapped_bytes;
    snapshot->reserved_bytes = planes.reserved_bytes;
    snapshots_.push_back(std::move(snapshot));
    thin_out(moment.now);
    mark_warmup(moment.warmup_ended);
}

// Removes the snapshots that are nearest to their neighbours, relative to their age.
void GrowthHistory::thin_out(Seconds now) {
    while (!snapshots_.empty() && now - snapshots_.front()->at > kOldest) snapshots_.pop_front();
    while (snapshots_.size() > kMostSnapshots) {
        std::size_t least = 1;
        double nearest = 0;
        for (std::size_t i = 1; i + 1 < snapshots_.size(); ++i) {
            const Seconds age = now - snapshots_[i]->at;
            if (age <= kFine) break;
            const double gap = (snapshots_[i + 1]->at - snapshots_[i - 1]->at) / age;
            if (nearest != 0 && gap >= nearest) continue;
            nearest = gap;
            least = i;
        }
        snapshots_.erase(snapshots_.begin() + static_cast<std::ptrdiff_t>(least));
    }
}

const GrowthHistory::Snapshot* GrowthHistory::nearest(Seconds at) const {
    const Snapshot* best = nullptr;
    const auto distance = [&](const Snapshot& each) { return std::abs((each.at - at).count()); };
    for (const SnapshotPtr& each : snapshots_)
        if (!best || distance(*each) < distance(*best)) best = each.get();
    return best;
}

// Called at every tick, because the judge detects the end of a warm-up only some time later, and may correct it.
void GrowthHistory::mark_warmup(const std::optional<Seconds>& ended) {
    if (!ended) {
        warmup_.reset();
        return;
    }
    for (const SnapshotPtr& each : snapshots_) {
        const auto distance = [&](const Snapshot& one) { return std::abs((one.at - *ended).count()); };
        if (!warmup_ || distance(*each) < distance(*warmup_)) warmup_ = each;
    }
}

// Subtracts the earlier growth from `plane`. What a site held that does not exist any more is subtracted from other
// sites of its line, because its stack may have been merged into its line. Leaves out sites that have shrunk, so that
// no site is negative. The bytes that they have lost are in `freed_since`, so that sites and unattributed growth still
// add up to the change of the whole plane.
void GrowthHistory::subtract(const Plane& then, SitePlane& plane) {
    SiteHashes hashes;
    struct Now {
        LineId line{};
        std::int64_t bytes = 0;
        std::int64_t passing = 0;
        std::vector<SiteGrowth> parts{};
    };
    std::map<std::pair<std::uint64_t, RoleKey>, Now> now;
    std::map<std::pair<LineId, RoleKey>, std::int64_t> vanished;
    for (SiteGrowth& one : plane.sites) {
        const std::uint64_t hash = hashes.of(one.site);
        Now& sum = now[{hash, one.role}];
        sum.line = line_of(*one.site, hash);
        sum.bytes += one.bytes;
        sum.passing += one.passing;
        sum.parts.push_back(std::move(one));
    }
    std::int64_t freed = 0;
    for (const Entry& entry : then.entries) {
        const auto found = now.find({entry.site, entry.role});
        if (found == now.end())
            vanished[{entry.line, entry.role}] += entry.bytes;
        else
            found->second.bytes -= entry.bytes;
    }
    for (auto& [key, sum] : now) {
        const auto more = vanished.find({sum.line, key.second});
        if (more == vanished.end()) continue;
        const std::int64_t part = std::min(std::max<std::int64_t>(sum.bytes, 0), more->second);
        sum.bytes -= part;
        more->second -= part;
    }
    for (const auto& [line, bytes] : vanished) freed -= bytes;
    plane.sites.clear();
    for (auto& [key, sum] : now) {
        if (sum.bytes <= 0) {
            freed += sum.bytes;
            continue;
        }
        // It is not known which of the processes has grown: the first one gets the sum, and the others get 0.
        std::int64_t bytes = sum.bytes;
        for (SiteGrowth& part : sum.parts) {
            part.bytes = std::exchange(bytes, 0);
            part.passing = std::exchange(sum.passing, 0);
            plane.sites.push_back(std::move(part));
        }
    }
    std::vector<UnattributedGrowth> changes;
    for (const UnattributedGrowth& each : plane.unattributed) add_to(changes, each.reason.c_str(), each.bytes);
    for (const UnattributedGrowth& each : then.unattributed) add_to(changes, each.reason.c_str(), -each.bytes);
    plane.unattributed.clear();
    for (UnattributedGrowth& each : changes) {
        if (each.bytes > 0)
            plane.unattributed.push_back(std::move(each));
        else
            freed += each.bytes;
    }
    add_to(plane.unattributed, "freed_since", freed);
    add_to(plane.unattributed, "small_before", -then.rest);
}

GrowthSpan GrowthHistory::apply(const GrowthRequest& request, const Moment& moment, SitePlanes& planes) const {
    GrowthSpan span;
    if (!began_ || run_ != moment.run) return span;
    Seconds until = moment.now;
    if (request.at_peak) {
        if (!request.kept_peak) span.peak = moment.wall;
        if (peak_ && (request.kept_peak || peak_->held > moment.held)) {
            planes = peak_->planes;
            span.peak = peak_->wall;
            until = peak_->at;
        }
    }
    const Snapshot* then = nullptr;
    if (request.since == GrowthRequest::Since::warmup) then = warmup_.get();
    if (request.since == GrowthRequest::Since::ago && moment.now - request.ago > *began_)
        then = nearest(moment.now - request.ago);
    if (!then || then->at >= until) return span;
    span.since = moment.now - then->at;
    span.after_warmup = request.since == GrowthRequest::Since::warmup;
    for (std::size_t i = 0; i < kPlanes; ++i) subtract(then->planes[i], planes.planes[i]);
    planes.file_mapped_bytes -= then->file_mapped_bytes;
    planes.reserved_bytes -= then->reserved_bytes;
    return span;
}

std::optional<LineTrend> GrowthHistory::trend(PlaneKind plane, LineId line, const RoleKey& role) const {
    constexpr std::size_t kMostMinutes = 10;
    const std::size_t count = std::min(snapshots_.size(), kMostMinutes + 1);
    LineTrend trend;
    std::optional<std::int64_t> before;
    for (std::size_t i = snapshots_.size() - count; i < snapshots_.size(); ++i) {
        std::int64_t bytes = 0;
        for (const Entry& entry : snapshots_[i]->planes[static_cast<std::size_t>(plane)].entries)
            if (entry.line == line && entry.role == role) bytes += entry.bytes;
        if (before) {
            ++trend.minutes;
            trend.grew += bytes > *before ? 1 : 0;
        }
        before = bytes;
    }
    return trend.minutes < 2 ? std::nullopt : std::optional(trend);
}

std::size_t GrowthHistory::bytes() const {
    std::set<const Snapshot*> all;
    for (const SnapshotPtr& each : snapshots_) all.insert(each.get());
    if (warmup_) all.insert(warmup_.get());
    std::size_t sum = 0;
    for (const Snapshot* each : all) {
        sum += sizeof *each;
        for (const Plane& plane : each->planes)
            sum +=
                plane.entries.capacity() * sizeof(Entry) + plane.unattributed.capacity() * sizeof(UnattributedGrowth);
    }
    return sum;
}

std::size_t GrowthHistory::peak_names() const {
    std::size_t sum = 0;
    if (!peak_) return sum;
    for (const SitePlane& plane : peak_->planes.planes)
        for (const SiteGrowth& one : plane.sites) sum += name_bytes(*one.site);
    return sum;
}

const GrowthHistory* GrowthHistories::find(const std::string& target) const {
    const auto found = targets_.find(target);
    return found == targets_.end() ? nullptr : &found->second;
}

void GrowthHistories::keep_only(const std::set<std::string>& targets) {
    std::erase_if(targets_, [&](const auto& each) { return !targets.contains(each.first); });
}

void GrowthHistories::name_peaks(const CallSites& sites) {
    for (auto& [name, history] : targets_) history.name_peak(sites);
}

void GrowthHistories::bound_peaks() {
    std::vector<std::pair<double, GrowthHistory*>> peaks;
    std::size_t names = 0;
    for (auto& [name, history] : targets_) {
        const std::size_t bytes = history.peak_names();
        names += bytes;
        if (bytes > 0) peaks.emplace_back(history.peak_time(), &history);
    }
    std::sort(peaks.begin(), peaks.end());
    for (const auto& [time, history] : peaks) {
        if (names <= kMostPeakNames) break;
        names -= history->peak_names();
        history->forget_peak();
    }
}

}  // namespace memscope
