#include "recording/recording.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <sys/stat.h>

#include "base/text.h"
#include "record/record.h"
#include "recording/schema.h"

namespace memscope {
namespace {

using recording::Database;
using recording::Statement;

constexpr std::string_view kMagic{"SQLite format 3\0", 16};
constexpr std::size_t kMostRecordBytes = std::size_t{64} << 20U;  // as record::Bounds allows
constexpr std::size_t kMostMeta = 1000;
constexpr std::size_t kMostTargets = 100'000;
constexpr std::size_t kMostEvents = 100'000;
constexpr std::size_t kMostIndexed = 4'000'000;  // ticks
constexpr std::size_t kMostHeapCensuses = 10'000;
constexpr std::size_t kMostTimes = 100'000;
constexpr std::size_t kMostReports = 1'000;
constexpr std::size_t kMostReportElements = 10'000;  // of each list, the same limit as for the JSON file of a report
constexpr std::size_t kMostBins = 5'000'000;
constexpr std::size_t kMostTextBytes = std::size_t{64} << 10U;
constexpr std::size_t kMostTables = 50;

Bytes size_of(std::int64_t value) { return {value < 0 ? 0 : static_cast<std::uint64_t>(value)}; }
double finite(double value) { return std::isfinite(value) ? std::clamp(value, -1e15, 1e15) : 0; }
std::string text_of(const Statement& row, int column) {
    return std::string(row.bytes(column).substr(0, kMostTextBytes));
}

Result<std::int64_t> number_of(Database& database, const char* sql) {
    auto statement = database.prepare(sql);
    if (!statement) return statement.error();
    const auto row = statement->step();
    if (!row) return row.error();
    return *row ? statement->integer(0) : 0;
}

// Calls take() for each row, until it returns an error or false.
template <class Take>
Status each_row(Statement& statement, Take take) {
    for (;;) {
        const auto row = statement.step();
        if (!row) return row.error();
        if (!*row) return Done{};
        Result<bool> more = take(statement);
        if (!more) return more.error();
        if (!*more) return Done{};
    }
}

Status must_be_plain(const fs::path& path) {
    struct stat file{};
    if (::stat(path.c_str(), &file) != 0) return system_error(errno, "open " + path.string());
    if (!S_ISREG(file.st_mode)) return plain_error(path.string() + ": is not a regular file");
    const Fd opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!opened) return system_error(errno, "open " + path.string());
    std::string begin(kMagic.size(), '\0');
    if (::pread(opened.get(), begin.data(), begin.size(), 0) != static_cast<ssize_t>(begin.size()) || begin != kMagic)
        return plain_error(path.string() + ": is not a recording of memscope");
    return Done{};
}

bool has_wal(const fs::path& path) {
    struct stat file{};
    return ::stat((path.native() + "-wal").c_str(), &file) == 0;
}

RecordedSample sample_of(const Statement& row) {
    return {Seconds(finite(row.real(0))), finite(row.real(1)), size_of(row.integer(2)), size_of(row.integer(3)),
            size_of(row.integer(4)).n};
}

void bind_span(Statement& statement, const RecordedTarget& target, const RecordedSpan& span) {
    statement.bind(1, target.id).bind(2, span.from.count()).bind(3, span.to.count());
}

}  // namespace

bool looks_like_recording(const fs::path& path) { return static_cast<bool>(must_be_plain(path)); }

Error Recording::about_file(const Error& error) const {
    return {error.code, path_.string() + ": " + error.where, error.advice};
}

Result<Recording> Recording::open(const fs::path& path) {
    if (auto plain = must_be_plain(path); !plain) return plain.error();
    auto database = Database::open(path, has_wal(path) ? Database::Mode::read : Database::Mode::read_still);
    if (!database) return database.error();
    Recording opened(path, *std::move(database));
    if (auto read = opened.read_head(); !read) return read.error();
    return opened;
}

Status Recording::check_tables() {
    const auto application = number_of(database_, "PRAGMA application_id");
    if (!application) return application.error();
    if (*application != recording::kApplicationId)
        return plain_error(path_.string() + ": is not a recording of memscope");
    const auto version = number_of(database_, "PRAGMA user_version");
    if (!version) return version.error();
    if (*version > recording::kSchemaVersion)
        return plain_error(path_.string() + ": is a recording of a later version of memscope", "use that version");
    // The statements here run over these tables, so nothing in the file may redefine them.
    auto schema = database_.prepare("SELECT name, sql FROM sqlite_schema");
    if (!schema) return schema.error();
    std::set<std::string> found;
    const Error foreign = plain_error(path_.string() + ": is not a recording of memscope: it has other tables");
    auto read = each_row(*schema, [&](const Statement& row) -> Result<bool> {
        const std::string name = text_of(row, 0);
        const auto known = std::ranges::find(recording::tables(), name, &recording::Table::name);
        if (known == recording::tables().end() || row.bytes(1) != known->sql) return foreign;
        found.insert(name);
        if (found.size() > kMostTables) return foreign;
        return true;
    });
    if (!read) return read;
    if (found.size() != recording::tables().size()) return foreign;
    return Done{};
}

Status Recording::read_head() {
    if (auto checked = check_tables(); !checked) return checked;
    auto meta = database_.prepare("SELECT key, value FROM meta");
    if (!meta) return meta.error();
    auto read = each_row(*meta, [this](const Statement& row) -> Result<bool> {
        meta_[text_of(row, 0)] = text_of(row, 1);
        return meta_.size() < kMostMeta;
    });
    if (!read) return read;
    const std::string& begin = meta_["begin"];
    double seconds = 0;
    (void)std::from_chars(begin.data(), begin.data() + begin.size(), seconds);
    began_ = finite(seconds);
    auto targets = database_.prepare("SELECT id, name, kind, cgroup_version FROM targets ORDER BY id");
    if (!targets) return targets.error();
    return each_row(*targets, [this](const Statement& row) -> Result<bool> {
        const auto version = static_cast<int>(std::clamp<std::int64_t>(row.integer(3), 1, 2));
        targets_.push_back({row.integer(0), {text_of(row, 1), text_of(row, 2), version}});
        return targets_.size() < kMostTargets;
    });
}

Result<RecordedTarget> Recording::target(const std::optional<std::string>& name) const {
    if (targets_.empty()) return plain_error(path_.string() + ": has no target yet");
    if (!name && targets_.size() == 1) return targets_.front();
    constexpr std::size_t kMostNamed = 5;
    std::vector<std::string> names;
    for (const RecordedTarget& each : targets_) {
        if (name && each.info.name == *name) return each;
        if (names.size() < kMostNamed) names.push_back(printable(each.info.name));
    }
    const std::string list = fmt::format("{}{}", fmt::join(names, ", "), targets_.size() > names.size() ? ", ..." : "");
    if (name)
        return plain_error(fmt::format("{}: has no target '{}'", path_.string(), shortened(*name)), "it has " + list);
    return plain_error(fmt::format("{}: has {} targets", path_.string(), targets_.size()),
                       "choose one with --target: " + list);
}

Status Recording::each_sample(const RecordedTarget& target, const RecordedSpan& span,
                              const std::function<bool(const RecordedSample&)>& take) {
    auto rows = database_.prepare(
        "SELECT at, time, bytes, usage, processes FROM ticks WHERE target = ? AND at >= ? AND at <= ? ORDER BY id");
    if (!rows) return rows.error();
    bind_span(*rows, target, span);
    return each_row(*rows, [&](const Statement& row) -> Result<bool> { return take(sample_of(row)); });
}

Result<std::string> Recording::keyframe(std::int64_t id) {
    auto row = database_.prepare("SELECT record FROM ticks WHERE id = ? AND base IS NULL");
    if (!row) return row.error();
    const auto found = row->bind(1, id).step();
    if (!found) return found.error();
    if (!*found) return plain_error("is damaged: the keyframe of a tick is missing");
    return decompressor_.decompress(row->bytes(0), {}, kMostRecordBytes);
}

Result<Snapshot> Recording::snapshot_of(const Statement& row, int first) {
    const bool whole = row.is_null(first + 1);
    const std::int64_t base = whole ? row.integer(first) : row.integer(first + 1);
    if (!whole && base != keyframe_) {
        auto content = keyframe(base);
        if (!content) return about_file(content.error());
        content_ = *std::move(content);
        keyframe_ = base;
    }
    auto record =
        decompressor_.decompress(row.bytes(first + 2), whole ? std::string_view() : content_, kMostRecordBytes);
    if (!record) return about_file(record.error());
    auto snapshot = decode_record<Snapshot>(*record);
    if (!snapshot) return about_file(plain_error("has a tick that " + snapshot.error().where));
    if (snapshot->targets.size() != 1)
        return about_file(plain_error("is damaged: a tick does not have exactly one target"));
    if (whole) {
        content_ = *std::move(record);
        keyframe_ = base;
    }
    return snapshot;
}

Status Recording::each_tick(const RecordedTarget& target, const RecordedSpan& span,
                            const std::function<bool(const RecordedSample&, Snapshot)>& take) {
    auto rows = database_.prepare(
        "SELECT at, time, bytes, usage, processes, id, base, record FROM ticks WHERE target = ? AND at >= ? AND at <= "
        "? ORDER BY id");
    if (!rows) return rows.error();
    bind_span(*rows, target, span);
    return each_row(*rows, [&](const Statement& row) -> Result<bool> {
        auto snapshot = snapshot_of(row, 5);
        if (!snapshot) return snapshot.error();
        return take(sample_of(row), *std::move(snapshot));
    });
}

Result<std::vector<RecordedMoment>> Recording::tick_index(const RecordedTarget& target) {
    auto rows = database_.prepare("SELECT id, at, time FROM ticks WHERE target = ? ORDER BY id");
    if (!rows) return rows.error();
    rows->bind(1, target.id);
    std::vector<RecordedMoment> moments;
    auto read = each_row(*rows, [&](const Statement& row) -> Result<bool> {
        moments.push_back({row.integer(0), Seconds(finite(row.real(1))), finite(row.real(2))});
        return moments.size() < kMostIndexed;
    });
    if (!read) return read.error();
    return moments;
}

Result<Snapshot> Recording::tick(const RecordedTarget& target, std::int64_t id) {
    auto row = database_.prepare("SELECT id, base, record FROM ticks WHERE id = ? AND target = ?");
    if (!row) return row.error();
    const auto found = row->bind(1, id).bind(2, target.id).step();
    if (!found) return found.error();
    if (!*found) return about_file(plain_error("the watcher has removed this tick"));
    return snapshot_of(*row, 0);
}

Result<std::optional<RecordedMoment>> Recording::tick_before(const RecordedTarget& target, double time) {
    const auto first_row = [&](const char* sql) -> Result<std::optional<RecordedMoment>> {
        auto row = database_.prepare(sql);
        if (!row) return row.error();
        const auto found = row->bind(1, target.id).bind(2, time).step();
        if (!found) return found.error();
        if (!*found) return std::optional<RecordedMoment>();
        return std::optional(RecordedMoment{row->integer(0), Seconds(finite(row->real(1))), finite(row->real(2))});
    };
    auto last = first_row("SELECT id, at, time FROM ticks WHERE target = ? AND time <= ? ORDER BY id DESC LIMIT 1");
    if (!last || *last) return last;
    return first_row("SELECT id, at, time FROM ticks WHERE target = ? AND time > ? ORDER BY id LIMIT 1");
}

Result<Seconds> Recording::place_of(const RecordedTarget& target, double time) {
    std::optional<RecordedSample> last;
    std::optional<Seconds> shown, skipped;
    auto read = each_sample(target, {}, [&](const RecordedSample& sample) {
        if (last && last->time <= time) {
            const Seconds place = last->at + Seconds(time - last->time);
            if (place <= sample.at)
                shown = place;
            else if (time < sample.time)
                skipped = sample.at;
        }
        last = sample;
        return true;
    });
    if (!read) return read.error();
    if (shown) return *shown;
    if (last && last->time <= time) return last->at + Seconds(time - last->time);
    return skipped ? *skipped : Seconds(time - began_);
}

Result<std::vector<RecordedEvent>> Recording::events(const RecordedTarget& target) {
    auto rows = database_.prepare("SELECT at, time, kind, text FROM events WHERE target = ? ORDER BY id");
    if (!rows) return rows.error();
    rows->bind(1, target.id);
    std::vector<RecordedEvent> events;
    auto read = each_row(*rows, [&](const Statement& row) -> Result<bool> {
        events.push_back({Seconds(finite(row.real(0))), finite(row.real(1)), text_of(row, 2), text_of(row, 3)});
        return events.size() < kMostEvents;
    });
    if (!read) return read.error();
    return events;
}

Result<std::optional<Growth>> Recording::last_growth(const RecordedTarget& target) {
    return growth_at(target, Seconds(std::numeric_limits<double>::infinity()));
}

Result<std::optional<Growth>> Recording::growth_at(const RecordedTarget& target, Seconds at) {
    return growth_row(
        "SELECT record FROM growth WHERE target = ? AND at <= ? AND reason <> 'peak' ORDER BY id DESC "
        "LIMIT 1",
        target, at.count());
}

Result<std::optional<Growth>> Recording::growth_before(const RecordedTarget& target, double time) {
    return growth_row(
        "SELECT record FROM growth WHERE target = ? AND time <= ? AND reason <> 'peak' ORDER BY id DESC "
        "LIMIT 1",
        target, time);
}

Result<std::vector<double>> Recording::growth_times(const RecordedTarget& target) {
    auto rows = database_.prepare("SELECT time FROM growth WHERE target = ? AND reason <> 'peak' ORDER BY id");
    if (!rows) return rows.error();
    rows->bind(1, target.id);
    std::vector<double> times;
    auto read = each_row(*rows, [&](const Statement& row) -> Result<bool> {
        times.push_back(finite(row.real(0)));
        return times.size() < kMostTimes;
    });
    if (!read) return read.error();
    return times;
}

Result<std::optional<Growth>> Recording::peak_growth(const RecordedTarget& target) {
    return growth_row(
        "SELECT record FROM growth WHERE target = ? AND at <= ? AND reason = 'peak' ORDER BY id DESC "
        "LIMIT 1",
        target, std::numeric_limits<double>::infinity());
}

Result<std::optional<Growth>> Recording::growth_row(const char* sql, const RecordedTarget& target, double until) {
    auto rows = database_.prepare(sql);
    if (!rows) return rows.error();
    const auto found = rows->bind(1, target.id).bind(2, until).step();
    if (!found) return found.error();
    if (!*found) return std::optional<Growth>();
    const auto record = decompressor_.decompress(rows->bytes(0), {}, kMostRecordBytes);
    if (!record) return about_file(record.error());
    auto growth = decode_record<Growth>(*record);
    if (!growth) return about_file(plain_error("has growth that " + growth.error().where));
    return std::optional(*std::move(growth));
}

Result<std::map<std::string, std::vector<RecordedBin>>> Recording::bins(const RecordedTarget& target) {
    auto rows = database_.prepare(
        "SELECT name, at, low, high FROM bins JOIN series ON series.id = bins.series WHERE target = ? ORDER BY at");
    if (!rows) return rows.error();
    rows->bind(1, target.id);
    std::map<std::string, std::vector<RecordedBin>> bins;
    std::size_t count = 0;
    auto read = each_row(*rows, [&](const Statement& row) -> Result<bool> {
        bins[text_of(row, 0)].push_back(
            {Seconds(finite(row.real(1))), size_of(row.integer(2)), size_of(row.integer(3))});
        return ++count < kMostBins;
    });
    if (!read) return read.error();
    return bins;
}

Status Recording::each_census(const RecordedTarget& target, const RecordedSpan& span,
                              const std::function<bool(Seconds at, WholeCensus)>& take) {
    auto rows = database_.prepare("SELECT at, record FROM heap WHERE target = ? AND at >= ? AND at <= ? ORDER BY id");
    if (!rows) return rows.error();
    bind_span(*rows, target, span);
    std::size_t count = 0;
    return each_row(*rows, [&](const Statement& row) -> Result<bool> {
        auto census = census_of(row.bytes(1));
        if (!census) return census.error();
        return take(Seconds(finite(row.real(0))), *std::move(census)) && ++count < kMostHeapCensuses;
    });
}

Result<WholeCensus> Recording::census_of(std::string_view compressed) {
    const auto record = decompressor_.decompress(compressed, {}, kMostRecordBytes);
    if (!record) return about_file(record.error());
    auto census = decode_record<WholeCensus>(*record);
    if (!census) return about_file(plain_error("has a heap census that " + census.error().where));
    return census;
}

Result<std::vector<RecordedCensus>> Recording::census_index(const RecordedTarget& target) {
    auto rows = database_.prepare("SELECT id, time, pid FROM heap WHERE target = ? ORDER BY id");
    if (!rows) return rows.error();
    rows->bind(1, target.id);
    std::vector<RecordedCensus> index;
    auto read = each_row(*rows, [&](const Statement& row) -> Result<bool> {
        const auto pid = std::clamp<std::int64_t>(row.integer(2), 0, std::numeric_limits<pid_t>::max());
        index.push_back({row.integer(0), finite(row.real(1)), static_cast<pid_t>(pid)});
        return index.size() < kMostTimes;
    });
    if (!read) return read.error();
    return index;
}

Result<WholeCensus> Recording::census(const RecordedTarget& target, std::int64_t id) {
    auto row = database_.prepare("SELECT record FROM heap WHERE id = ? AND target = ?");
    if (!row) return row.error();
    const auto found = row->bind(1, id).bind(2, target.id).step();
    if (!found) return found.error();
    if (!*found) return about_file(plain_error("the watcher has removed this heap census"));
    return census_of(row->bytes(0));
}

Status Recording::each_report(const RecordedTarget& target, const std::function<bool(Seconds at, DeathReport)>& take) {
    auto rows = database_.prepare("SELECT at, record FROM reports WHERE target = ? ORDER BY time, pid");
    if (!rows) return rows.error();
    rows->bind(1, target.id);
    std::size_t count = 0;
    return each_row(*rows, [&](const Statement& row) -> Result<bool> {
        const auto record = decompressor_.decompress(row.bytes(1), {}, kMostRecordBytes);
        if (!record) return about_file(record.error());
        auto report = decode_record<DeathReport>(*record);
        if (!report) return about_file(plain_error("has a death report that " + report.error().where));
        if (auto limited = limit_untrusted(*report, kMostReportElements); !limited)
            return about_file(plain_error("has a death report that " + limited.error().where));
        if (report->deaths.empty() || report->then.targets.size() != 1)
            return about_file(plain_error("is damaged: a death report has no death or not one target"));
        return take(Seconds(finite(row.real(0))), *std::move(report)) && ++count < kMostReports;
    });
}

Status Recording::copy_to(const fs::path& file) {
    auto copy = Database::open(file, Database::Mode::copy);
    if (!copy) return copy.error();
    if (auto copied = copy->copy_from(database_); !copied) return copied;
    return copy->close();
}

}  // namespace memscope
