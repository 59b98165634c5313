#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "outputs/growth/growth_text.h"
#include "recording/recording_file.h"
#include "review/chunked_writer.h"
#include "review/perfetto.h"

namespace memscope {
namespace {

using perfetto::TraceWriter;
using perfetto::Track;

constexpr Seconds kBin = recording::RecordingFile::kBin;

std::int64_t nanoseconds(double seconds, double most) { return std::llround(std::clamp(seconds, 0.0, most) * 1e9); }

std::int64_t as_value(Bytes bytes) {
    return static_cast<std::int64_t>(std::min<std::uint64_t>(bytes.n, std::numeric_limits<std::int64_t>::max()));
}

// A state that lasted from one event to another.
struct Slice {
    std::string track{};
    Seconds begin{};
    Seconds end{};
    std::string name{};
    std::string details{};
};

// "leaking: it grows" has the name before the colon.
std::pair<std::string, std::string> parts_of(const std::string& text) {
    const auto colon = text.find(": ");
    if (colon == std::string::npos) return {text, {}};
    return {text.substr(0, colon), text.substr(colon + 2)};
}

// Verdicts and precursors as slices; each kind of precursor has a track of its own. Slices of one track follow each
// other in time.
std::vector<Slice> slices_of(const std::vector<RecordedEvent>& events, Seconds end) {
    std::vector<Slice> slices;
    std::map<std::string, std::size_t> open;  // by track: the slice that has not ended
    Seconds latest{0};                        // times of a forged file can be in any order
    const auto close = [&](const std::string& track) {
        if (const auto found = open.find(track); found != open.end()) {
            slices[found->second].end = latest;
            open.erase(found);
        }
    };
    for (const RecordedEvent& event : events) {
        latest = std::max(latest, event.at);
        const auto [name, details] = parts_of(event.text);
        const bool verdict = event.kind == "verdict", over = event.kind == "precursor_over";
        if (!verdict && !over && event.kind != "precursor") continue;
        const std::string track = verdict ? "verdict" : "precursor " + name;
        close(track);
        if (over) continue;
        open[track] = slices.size();
        slices.push_back({track, latest, latest, name, details});
    }
    latest = std::max(latest, end);
    while (!open.empty()) close(std::string(open.begin()->first));
    return slices;
}

class PerfettoExport {
  public:
    PerfettoExport(Recording& recording, const RecordedTarget& target, const RecordedSpan& span, const WriteText& write)
        : recording_(recording), target_(target), span_(span), out_(write) {}

    Status run() {
        auto bins = recording_.bins(target_);
        if (!bins) return bins.error();
        bins_ = *std::move(bins);
        trace_.add_clock(at_ns(Seconds{0}));
        top_ = trace_.add_track("memscope " + target_.info.name, 0);
        auto read =
            recording_.each_tick(target_, span_, [this](const RecordedSample& sample, const Snapshot& snapshot) {
                last_ = std::max(last_, sample.at);  // times of a forged file can be in any order
                add_values(snapshot.targets.front());
                add_processes(snapshot.targets.front());
                return out_.add(trace_.take());
            });
        if (!read) return read;
        add_last_bins();
        for (const auto& [id, life] : lives_) trace_.end(life.track, at_ns(last_));
        const auto events = recording_.events(target_);
        if (!events) return events.error();
        add_slices(*events);
        add_instants(*events);
        out_.add(trace_.take());
        return out_.finish();
    }

  private:
    struct Counter {
        Track track = 0;
        std::optional<std::int64_t> value{};     // what the trace shows now; none: write the next value in any case
        const std::vector<RecordedBin>* bins{};  // null: this counter has no bins
        std::size_t next_bin = 0;
        std::int64_t open_bin = -1;  // number of the bin of the last tick, and the range of ticks in it
        Bytes low{};
        Bytes high{};
    };
    struct Life {
        Track track = 0;
        RoleKey role{};
        bool seen = true;  // at this tick
    };

    // The limits keep the sum below 2^63, also if the times in the file are wrong.
    std::int64_t at_ns(Seconds at) const { return nanoseconds(recording_.began(), 8e9) + nanoseconds(at.count(), 1e9); }

    Counter& counter(const std::string& name, perfetto::Unit unit) {
        const auto [found, added] = counters_.try_emplace(name);
        Counter& made = found->second;
        if (!added) return made;
        made.track = trace_.add_counter(name == "target" ? "judged memory" : name, unit, top_);
        if (const auto bins = bins_.find(name); bins != bins_.end()) made.bins = &bins->second;
        return made;
    }

    void set(Counter& made, std::int64_t value) {
        if (made.value == value) return;
        made.value = value;
        trace_.add_value(made.track, at_ns(last_), value);
    }

    // Adds a bin whose ticks were removed since: its lowest value after a third of the bin, its highest value after two
    // thirds. The true times are not known any more.
    void add_bin(Counter& made, const RecordedBin& bin) {
        const bool in_span = bin.at >= span_.from && bin.at + kBin <= span_.to;
        const bool known = static_cast<std::int64_t>(std::floor(bin.at / kBin + 0.5)) == made.open_bin &&
                           bin.low >= made.low && bin.high <= made.high;
        if (!in_span || known) return;
        trace_.add_value(made.track, at_ns(bin.at + kBin / 3), as_value(bin.low));
        if (bin.low != bin.high) trace_.add_value(made.track, at_ns(bin.at + 2 * kBin / 3), as_value(bin.high));
        made.value.reset();
    }

    void add_size(Counter& made, Bytes bytes) {
        while (made.bins && made.next_bin < made.bins->size() && (*made.bins)[made.next_bin].at + kBin <= last_)
            add_bin(made, (*made.bins)[made.next_bin++]);
        const auto number = static_cast<std::int64_t>(std::floor(last_ / kBin));
        if (number != made.open_bin) {
            made.open_bin = number;
            made.low = made.high = bytes;
        }
        made.low = std::min(made.low, bytes);
        made.high = std::max(made.high, bytes);
        set(made, as_value(bytes));
    }

    // Adds the bins that are not added yet: a role can have begun and ended between two ticks that are left.
    void add_last_bins() {
        for (const auto& [name, bins] : bins_) {
            Counter& made = counter(name, perfetto::Unit::bytes);
            while (made.next_bin < bins.size() && bins[made.next_bin].at + kBin <= last_)
                add_bin(made, bins[made.next_bin++]);
            if (!made.value) set(made, 0);
        }
    }

    void add_values(const TargetSnapshot& target) {
        std::map<std::string, Bytes> series = recording::recorded_series(target);
        if (target.memory.effective) series["limit"] = target.memory.effective->limit;
        for (const auto& [name, bytes] : series) add_size(counter(name, perfetto::Unit::bytes), bytes);
        set(counter("processes", perfetto::Unit::count), static_cast<std::int64_t>(target.processes.size()));
        for (auto& [name, made] : counters_)
            if (name != "processes" && !series.contains(name)) set(made, 0);  // a role or a GPU without a process
    }

    void add_processes(const TargetSnapshot& target) {
        for (auto& [id, life] : lives_) life.seen = false;
        for (const Process& process : target.processes) {
            const RoleKey role{process.role, process.rank};
            const auto [found, added] = lives_.try_emplace(process.task.id);
            Life& life = found->second;
            life.seen = true;
            if (added)
                life.track = trace_.add_process({.pid = process.task.id.pid,
                                                 .name = process.task.comm,
                                                 .command = process.command_text(),
                                                 .start_ns = nanoseconds(process.start_time, 9e9)});
            else if (life.role != role)
                trace_.end(life.track, at_ns(last_));  // its role was recognized later
            else
                continue;
            life.role = role;
            trace_.begin(life.track, at_ns(last_), role_text(role), process.command_text());
        }
        std::erase_if(lives_, [this](const auto& each) {
            if (!each.second.seen) trace_.end(each.second.track, at_ns(last_));
            return !each.second.seen;
        });
    }

    Track track(const std::string& name) {
        const auto [found, added] = tracks_.try_emplace(name);
        if (added) found->second = trace_.add_track(name, top_);
        return found->second;
    }

    void add_slices(const std::vector<RecordedEvent>& events) {
        for (const Slice& slice : slices_of(events, last_)) {
            const Seconds begin = std::max(slice.begin, span_.from), end = std::min(slice.end, span_.to);
            if (begin >= end) continue;
            const Track made = track(slice.track);
            trace_.begin(made, at_ns(begin), slice.name, slice.details);
            trace_.end(made, at_ns(end));
        }
    }

    void add_instants(const std::vector<RecordedEvent>& events) {
        for (const RecordedEvent& event : events) {
            if (event.at < span_.from || event.at > span_.to) continue;
            const auto [name, details] = parts_of(event.text);
            if (event.kind == "death")
                trace_.add_instant(track("deaths"), at_ns(event.at), name, details);
            else if (event.kind == "action" || event.kind == "report" || event.kind == "end")
                trace_.add_instant(track("events"), at_ns(event.at), event.kind, event.text);
        }
    }

    Recording& recording_;
    const RecordedTarget& target_;
    const RecordedSpan& span_;
    ChunkedWriter out_;
    TraceWriter trace_{};
    Track top_ = 0;
    Seconds last_{0};  // time of the last tick
    std::map<std::string, std::vector<RecordedBin>> bins_{};
    std::map<std::string, Counter> counters_{};
    std::map<ProcessId, Life> lives_{};
    std::map<std::string, Track> tracks_{};
};

}  // namespace

Status export_perfetto(Recording& recording, const RecordedTarget& target, const RecordedSpan& span,
                       const WriteText& write) {
    return PerfettoExport(recording, target, span, write).run();
}

}  // namespace memscope
