// Recordings with any content: opened, everything read that they can have, and exported. The first byte says what the
// rest is: 'T' the fields of a tick, 'Z' its compressed bytes, otherwise the bytes of the whole file.
#include <fstream>
#include <sqlite3.h>
#include <unistd.h>

#include "fuzz.h"
#include "record/container.h"
#include "recording/compression.h"
#include "recording/recording.h"
#include "recording/schema.h"
#include "review/export.h"

namespace memscope::fuzz {
namespace {

// SQLite opens files by name. In memory, because a disk would be slow.
struct ScratchFile {
    fs::path path = "/dev/shm/memscope-fuzz-" + std::to_string(::getpid()) + ".memscope";
    ~ScratchFile() {
        std::error_code ignored;
        fs::remove(path, ignored);
    }
    void put(std::string_view bytes) const {
        std::ofstream(path, std::ios::binary | std::ios::trunc).write(bytes.data(), static_cast<long>(bytes.size()));
    }
};
const ScratchFile& scratch() {
    static const ScratchFile kFile;
    return kFile;
}

// Runs on a file of our own, so that it cannot fail.
void run_sql(sqlite3* handle, const std::string& sql) {
    require(::sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK, "our SQL is right", sql);
}

sqlite3* opened_for_writing(const fs::path& path) {
    sqlite3* handle = nullptr;
    require(::sqlite3_open(path.c_str(), &handle) == SQLITE_OK, "our file can be opened");
    return handle;
}

// A recording of one target without ticks.
const std::string& empty_recording() {
    static const std::string kBytes = [] {
        scratch().put("");
        sqlite3* handle = opened_for_writing(scratch().path);
        run_sql(handle, "PRAGMA page_size = 512; PRAGMA application_id = " + std::to_string(recording::kApplicationId) +
                            "; PRAGMA user_version = " + std::to_string(recording::kSchemaVersion));
        for (const recording::Table& table : recording::tables()) run_sql(handle, table.sql);
        run_sql(handle,
                "INSERT INTO meta VALUES('begin', '1000000'); INSERT INTO targets VALUES(1, 'train', 'pid', 2)");
        ::sqlite3_close(handle);
        std::ifstream in(scratch().path, std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(in), {});
    }();
    return kBytes;
}

void put_recording_with_tick(std::string_view record) {
    scratch().put(empty_recording());
    sqlite3* handle = opened_for_writing(scratch().path);
    run_sql(handle, "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF");
    sqlite3_stmt* insert = nullptr;
    require(::sqlite3_prepare_v2(handle, "INSERT INTO ticks VALUES(1, 1, 0, 0, 0, 0, 1, NULL, ?)", -1, &insert,
                                 nullptr) == SQLITE_OK,
            "our SQL is right");
    ::sqlite3_bind_blob64(insert, 1, record.data(), record.size(), SQLITE_STATIC);
    require(::sqlite3_step(insert) == SQLITE_DONE, "a tick can be inserted");
    ::sqlite3_finalize(insert);
    ::sqlite3_close(handle);
}

template <class T>
bool is_read(const Result<T>& result) {
    if (result) return true;
    const std::string message = result.error().message();
    require(!message.empty() && is_clean(message), "an error is one clean line", message);
    return false;
}

void read_all(Recording& recording, const RecordedTarget& target) {
    is_read(recording.each_sample(target, {}, [](const RecordedSample&) { return true; }));
    is_read(recording.each_tick(target, {}, [](const RecordedSample&, const Snapshot& snapshot) {
        require(snapshot.targets.size() == 1, "a tick has one target");
        return true;
    }));
    const auto index = recording.tick_index(target);
    if (is_read(index) && !index->empty()) {
        is_read(recording.tick(target, index->back().id));
        is_read(recording.tick(target, index->front().id));
    }
    is_read(recording.events(target));
    is_read(recording.last_growth(target));
    is_read(recording.peak_growth(target));
    is_read(recording.growth_at(target, Seconds{100}));
    is_read(recording.bins(target));
    is_read(recording.each_census(target, {}, [](Seconds, const WholeCensus&) { return true; }));
    is_read(recording.each_report(target, [](Seconds, const DeathReport& report) {
        require(!report.deaths.empty() && report.then.targets.size() == 1, "a report has a death and a target");
        return true;
    }));
    std::string csv;
    const auto take = [&csv](std::string_view text) -> Status {
        csv += text;
        return Done{};
    };
    const auto drop = [](std::string_view) -> Status { return Done{}; };
    if (is_read(export_csv(recording, target, {}, take))) require(is_clean(csv, '\n'), "CSV is clean", csv);
    is_read(export_json(recording, target, {}, drop));
    is_read(export_perfetto(recording, target, {}, drop));
    is_read(export_perfetto(recording, target, {Seconds{1}, Seconds{2}}, drop));
}

}  // namespace

void one(std::string_view bytes) {
    if (bytes.empty()) return;
    const std::string_view rest = bytes.substr(1);
    if (bytes.front() == 'T')
        put_recording_with_tick(recording::Compressor().compress(record::sealed(record::Kind::snapshot, rest), {}));
    else if (bytes.front() == 'Z')
        put_recording_with_tick(rest);
    else
        scratch().put(bytes);
    auto opened = Recording::open(scratch().path);
    if (!is_read(opened)) return;
    constexpr std::size_t kMostTargets = 3;
    for (std::size_t i = 0; i < std::min(kMostTargets, opened->targets().size()); ++i)
        read_all(*opened, RecordedTarget(opened->targets()[i]));
}

}  // namespace memscope::fuzz
