#include "recording/recording_file.h"

#include <cmath>
#include <fmt/format.h>

#include "analysis/targets/target_judge.h"
#include "base/text.h"
#include "record/record.h"
#include "recording/schema.h"

namespace memscope::recording {
namespace {

// A record that takes more than half of the bytes of its keyframe repeats little of it, so it becomes a keyframe
// itself. This happens only every 10 s, because keyframes stay when other ticks are removed.
constexpr std::size_t kWorthADelta = 2;
constexpr Seconds kLeastKeyframe{10};
constexpr std::size_t kMostTextBytes = 4096;  // of an event
constexpr std::size_t kMostFollowed = 256;    // processes whose last census is remembered

std::int64_t signed_of(Bytes bytes) {
    return static_cast<std::int64_t>(std::min<std::uint64_t>(bytes.n, std::numeric_limits<std::int64_t>::max()));
}

// Keeps the larger half of each list of objects. False: there is nothing left to cut.
bool shorten(WholeCensus& census) {
    if (!census.objects) return false;
    ObjectCensus& objects = *census.objects;
    const auto halve = [](auto& list) { list.resize(list.size() / 2); };
    if (objects.types.empty() && objects.tensors.empty() && objects.arrays.empty() && objects.holders.empty())
        return false;
    halve(objects.types);
    halve(objects.tensors);
    halve(objects.arrays);
    halve(objects.holders);
    for (Holder& holder : objects.holders)
        if (holder.within > objects.holders.size()) holder.within = 0;
    return true;
}

}  // namespace

std::map<GpuId, Bytes> gpu_memory(const TargetSnapshot& target) {
    std::map<GpuId, Bytes> used;
    if (target.gpu)
        for (const auto& [role_device, use] : target.gpu->roles)
            used[role_device.second] += use.used.value_or(use.reserved_total());
    return used;
}

std::map<std::string, Bytes> recorded_series(const TargetSnapshot& target) {
    std::map<std::string, Bytes> series{{"target", judged_memory(target)}, {"usage", target.memory.usage}};
    for (const auto& [key, totals] : target.roles)
        series[fmt::format("role {}{}", name_of(key.role), key.rank ? fmt::format(" {}", *key.rank) : "")] =
            totals.own_anon();
    for (const auto& [gpu, bytes] : gpu_memory(target)) series["gpu " + gpu] = bytes;
    return series;
}

Result<RecordingFile> RecordingFile::create(RecordingStore::NewFile file,
                                            const std::map<std::string, std::string>& meta, Seconds began) {
    auto database = Database::open(file.path, Database::Mode::write);
    if (!database) return database.error();
    // FULL syncs the WAL at each commit. NORMAL would sync it only at checkpoints, and a long read can prevent
    // checkpoints.
    for (const char* sql : {"PRAGMA page_size = 4096", "PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL",
                            "PRAGMA wal_autocheckpoint = 0", "BEGIN"})
        if (auto ran = database->run(sql); !ran) return ran.error();
    const std::string header =
        fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, kSchemaVersion);
    if (auto ran = database->run(header.c_str()); !ran) return ran.error();
    for (const Table& table : tables())
        if (auto ran = database->run(table.sql); !ran) return ran.error();
    {
        auto insert = database->prepare("INSERT INTO meta VALUES(?, ?)");
        if (!insert) return insert.error();
        for (const auto& [key, value] : meta)
            if (auto ran = insert->bind_text(1, key).bind_text(2, value).run(); !ran) return ran.error();
    }
    RecordingFile made(std::move(file), *std::move(database), began);
    made.in_transaction_ = true;
    if (auto prepared = made.prepare(); !prepared) return prepared.error();
    if (auto committed = made.commit(); !committed) return committed.error();
    return made;
}

std::array<Statement*, 10> RecordingFile::statements() {
    return {&insert_tick_,   &insert_event_, &insert_growth_, &insert_heap_,   &insert_report_,
            &insert_series_, &insert_bin_,   &remove_ticks_,  &remove_growth_, &remove_heap_};
}

Status RecordingFile::prepare() {
    const std::pair<Statement*, const char*> all[] = {
        {&insert_tick_,
         "INSERT INTO ticks(target, at, time, bytes, usage, processes, base, record) VALUES(?, ?, ?, ?, ?, ?, ?, ?)"},
        {&insert_event_, "INSERT INTO events(target, at, time, kind, text) VALUES(?, ?, ?, ?, ?)"},
        {&insert_growth_, "INSERT INTO growth(target, at, time, reason, lasting, record) VALUES(?, ?, ?, ?, ?, ?)"},
        {&insert_heap_, "INSERT INTO heap(target, at, time, pid, lasting, record) VALUES(?, ?, ?, ?, ?, ?)"},
        {&insert_report_, "INSERT OR REPLACE INTO reports(target, time, pid, at, record) VALUES(?, ?, ?, ?, ?)"},
        {&insert_series_, "INSERT INTO series(target, name) VALUES(?, ?)"},
        {&insert_bin_, "INSERT OR REPLACE INTO bins VALUES(?, ?, ?, ?)"},
        {&remove_ticks_, "DELETE FROM ticks WHERE id > ? AND id <= ? AND base IS NOT NULL"},
        {&remove_growth_, "DELETE FROM growth WHERE id > ? AND id <= ? AND lasting = 0"},
        {&remove_heap_, "DELETE FROM heap WHERE id > ? AND id <= ? AND lasting = 0"},
    };
    for (const auto& [statement, sql] : all) {
        auto prepared = database_.prepare(sql);
        if (!prepared) return prepared.error();
        *statement = *std::move(prepared);
    }
    return Done{};
}

Status RecordingFile::begin() {
    if (in_transaction_) return Done{};
    auto began = database_.run("BEGIN IMMEDIATE");
    in_transaction_ = static_cast<bool>(began);
    return began;
}

Result<std::int64_t> RecordingFile::add_target(const TargetInfo& target) {
    if (auto begun = begin(); !begun) return begun.error();
    auto insert = database_.prepare("INSERT INTO targets(name, kind, cgroup_version) VALUES(?, ?, ?)");
    if (!insert) return insert.error();
    insert->bind_text(1, target.name).bind_text(2, target.kind).bind(3, std::int64_t{target.cgroup_version});
    if (auto ran = insert->run(); !ran) return ran.error();
    const std::int64_t id = database_.last_row();
    tracks_[id] = {};
    return id;
}

Status RecordingFile::add_tick(std::int64_t id, Seconds now, const Snapshot& snapshot, const TargetSnapshot& target) {
    if (auto begun = begin(); !begun) return begun;
    const Seconds at = now - began_;
    Track& track = tracks_[id];
    const std::string record = encode_target(snapshot, target);
    const bool due = track.keyframe == 0 || at - track.keyframe_at >= kKeyframeEvery;
    std::string packed = due ? std::string() : compressor_.compress(record, track.content);
    const bool stale = packed.size() * kWorthADelta > track.keyframe_size && at - track.keyframe_at >= kLeastKeyframe;
    const bool keyframe = due || stale;
    if (keyframe) packed = compressor_.compress(record, {});
    insert_tick_.bind(1, id).bind(2, at.count()).bind(3, snapshot.time).bind(4, signed_of(judged_memory(target)));
    insert_tick_.bind(5, signed_of(target.memory.usage)).bind(6, static_cast<std::int64_t>(target.processes.size()));
    insert_tick_.bind_blob(8, packed);
    if (keyframe)
        insert_tick_.bind_null(7);
    else
        insert_tick_.bind(7, track.keyframe);
    if (auto ran = insert_tick_.run(); !ran) return ran;
    last_.tick = database_.last_row();
    if (keyframe) {
        track.keyframe = last_.tick;
        track.keyframe_at = at;
        track.content = record;
        track.keyframe_size = packed.size();
    }
    if (auto added = add_bins(id, track, at, snapshot, target); !added) return added;
    return thin(at);
}

Status RecordingFile::add_bins(std::int64_t id, Track& track, Seconds at, const Snapshot&,
                               const TargetSnapshot& target) {
    const auto bin = static_cast<std::int64_t>(std::floor(at / kBin));
    if (bin != track.bin) {
        if (auto written = write_bins(id, track); !written) return written;
        track.bin = bin;
    }
    for (const auto& [name, bytes] : recorded_series(target)) {
        const auto [range, added] = track.ranges.try_emplace(name, Range{0, bytes.n, bytes.n});
        // A closed bin leaves an empty range: low above high.
        if (range->second.low > range->second.high) range->second.low = range->second.high = bytes.n;
        range->second.low = std::min(range->second.low, bytes.n);
        range->second.high = std::max(range->second.high, bytes.n);
    }
    return Done{};
}

Status RecordingFile::write_bins(std::int64_t id, Track& track) {
    for (auto& [name, range] : track.ranges) {
        if (range.low > range.high) continue;
        if (range.series == 0) {
            if (auto ran = insert_series_.bind(1, id).bind_text(2, name).run(); !ran) return ran;
            range.series = database_.last_row();
        }
        insert_bin_.bind(1, static_cast<double>(track.bin) * kBin.count()).bind(2, range.series);
        insert_bin_.bind(3, signed_of({range.low})).bind(4, signed_of({range.high}));
        if (auto ran = insert_bin_.run(); !ran) return ran;
        range.low = 1;
        range.high = 0;
    }
    return Done{};
}

Status RecordingFile::add_event(std::int64_t id, Seconds now, double time, std::string_view kind,
                                std::string_view text) {
    if (auto begun = begin(); !begun) return begun;
    insert_event_.bind(1, id).bind(2, (now - began_).count()).bind(3, time).bind_text(4, kind);
    return insert_event_.bind_text(5, text.substr(0, kMostTextBytes)).run();
}

Status RecordingFile::add_growth(std::int64_t id, Seconds now, double time, std::string_view reason, bool lasting,
                                 std::string_view record) {
    if (auto begun = begin(); !begun) return begun;
    Track& track = tracks_[id];
    if (!track.lasting_growth || now - *track.lasting_growth >= kLastingGrowthEvery) lasting = true;
    if (lasting) track.lasting_growth = now;
    const std::string packed = compressor_.compress(record, {});
    insert_growth_.bind(1, id).bind(2, (now - began_).count()).bind(3, time).bind_text(4, reason);
    if (auto ran = insert_growth_.bind(5, std::int64_t{lasting}).bind_blob(6, packed).run(); !ran) return ran;
    last_.growth = database_.last_row();
    return Done{};
}

Status RecordingFile::add_heap(std::int64_t id, Seconds now, const WholeCensus& census) {
    if (auto begun = begin(); !begun) return begun;
    std::string record = encode_record(census);
    if (record.size() > kMostHeapBytes) {
        WholeCensus shorter = census;
        while (record.size() > kMostHeapBytes && shorten(shorter)) record = encode_record(shorter);
    }
    const ProcessId& process = census.census.process;
    auto& lasting_heap = tracks_[id].lasting_heap;
    if (lasting_heap.size() >= kMostFollowed)  // most of them have ended
        std::erase_if(lasting_heap, [&](const auto& each) { return now - each.second >= kLastingHeapEvery; });
    const auto [kept, first] = lasting_heap.try_emplace(process, now);
    const bool lasting = first || now - kept->second >= kLastingHeapEvery;
    if (lasting) kept->second = now;
    // A compressor of its own, because a compressor keeps the memory that its largest input has needed.
    const std::string packed = Compressor().compress(record, {});
    insert_heap_.bind(1, id).bind(2, (now - began_).count()).bind(3, census.census.time);
    insert_heap_.bind(4, std::int64_t{process.pid}).bind(5, std::int64_t{lasting}).bind_blob(6, packed);
    if (auto ran = insert_heap_.run(); !ran) return ran;
    last_.heap = database_.last_row();
    return Done{};
}

Status RecordingFile::add_report(std::int64_t id, Seconds now, const DeathReport& report) {
    if (auto begun = begin(); !begun) return begun;
    const std::string packed = Compressor().compress(encode_record(report), {});
    const Death& death = report.decisive();
    insert_report_.bind(1, id).bind(2, death.time).bind(3, std::int64_t{death.id.pid}).bind(4, (now - began_).count());
    return insert_report_.bind_blob(5, packed).run();
}

Status RecordingFile::end_target(std::int64_t id) {
    const auto track = tracks_.find(id);
    if (track == tracks_.end()) return Done{};
    if (auto begun = begin(); !begun) return begun;
    auto written = write_bins(id, track->second);
    tracks_.erase(track);
    return written;
}

// Removes a minute of ticks at a time, so that no call takes long.
Status RecordingFile::thin(Seconds at) {
    if (marks_.empty() || at - marks_.back().at >= kKeyframeEvery) marks_.push_back({at, last_});
    while (!marks_.empty() && at - marks_.front().at > full_) {
        Rows to = marks_.front().last;
        to.tick -= 1;  // the tick of the mark itself can be the keyframe of later ticks
        if (auto ran = remove_ticks_.bind(1, thinned_to_.tick).bind(2, to.tick).run(); !ran) return ran;
        if (auto ran = remove_growth_.bind(1, thinned_to_.growth).bind(2, to.growth).run(); !ran) return ran;
        if (auto ran = remove_heap_.bind(1, thinned_to_.heap).bind(2, to.heap).run(); !ran) return ran;
        thinned_to_ = to;
        marks_.pop_front();
    }
    return Done{};
}

Status RecordingFile::commit() {
    if (!in_transaction_) return Done{};
    if (auto done = database_.run("COMMIT"); !done) return done;
    in_transaction_ = false;
    if (commits_++ % kCheckpointEvery != 0) return Done{};
    return database_.checkpoint();
}

void RecordingFile::roll_back() {
    if (in_transaction_) (void)database_.run("ROLLBACK");
    in_transaction_ = false;
    // Rows of keyframes and series may be gone.
    for (auto& [id, track] : tracks_) track = {};
}

Result<Bytes> RecordingFile::used() {
    const auto number = [this](const char* sql) -> Result<std::int64_t> {
        auto statement = database_.prepare(sql);
        if (!statement) return statement.error();
        const auto row = statement->step();
        if (!row) return row.error();
        return *row ? statement->integer(0) : 0;
    };
    const auto pages = number("PRAGMA page_count");
    if (!pages) return pages.error();
    const auto unused = number("PRAGMA freelist_count");
    if (!unused) return unused.error();
    return Bytes{static_cast<std::uint64_t>(std::max<std::int64_t>(*pages - *unused, 0)) * 4096};
}

Status RecordingFile::shrink() {
    if (auto begun = begin(); !begun) return begun;
    if (full_ > kLeastFull && !marks_.empty()) {
        const Seconds covered = marks_.back().at - marks_.front().at;
        full_ = std::max(kLeastFull, std::min(full_, covered) / 2);
        return thin(marks_.back().at);
    }
    // Removes the oldest tenth of the rows. Ticks that refer to a keyframe among these rows follow it directly, and
    // thin() has removed them before.
    for (const auto& [table, before] : {std::pair("ticks", thinned_to_.tick), std::pair("growth", thinned_to_.growth),
                                        std::pair("heap", thinned_to_.heap)}) {
        auto remove = database_.prepare(fmt::format(
            "DELETE FROM {0} WHERE id <= (SELECT min(id) + (max(id) - min(id)) / 10 FROM {0}) AND id < ?", table));
        if (!remove) return remove.error();
        if (auto ran = remove->bind(1, before).run(); !ran) return ran;
    }
    return Done{};
}

Status RecordingFile::close() {
    Status ended = Done{};
    while (!tracks_.empty() && ended) ended = end_target(tracks_.begin()->first);
    if (ended) ended = commit();
    if (!ended) roll_back();
    for (Statement* each : statements()) *each = Statement();  // a database with statements cannot be closed
    auto closed = database_.close();
    return ended ? closed : ended;
}

}  // namespace memscope::recording
