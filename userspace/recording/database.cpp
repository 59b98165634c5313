#include "recording/database.h"

#include <fmt/format.h>

namespace memscope::recording {
namespace {

// Limits for a file that can be forged. A row has one record of at most 64 MiB and some short texts.
constexpr int kMostRowBytes = 65 << 20;
constexpr int kMostSqlBytes = 10'000;  // the longest statement of the schema is much shorter
constexpr int kMostExpressionDepth = 50;
constexpr int kMostColumns = 20;
constexpr int kMostVdbeOps = 10'000;
constexpr int kCacheKiB = 256;  // per database: up to 32 are open

Error sqlite_error(sqlite3* handle, const std::string& file) {
    const int code = handle ? ::sqlite3_extended_errcode(handle) : SQLITE_NOMEM;
    const int system = handle ? ::sqlite3_system_errno(handle) : 0;
    switch (code & 0xFF) {
        case SQLITE_FULL:
            return system_error(ENOSPC, "write " + file, "free some space, or choose another directory with --record");
        case SQLITE_NOTADB:
        case SQLITE_CORRUPT:
            return plain_error(file + ": is not a recording of memscope, or is damaged");
        case SQLITE_CANTOPEN:
        case SQLITE_IOERR:
        case SQLITE_READONLY:
        case SQLITE_PERM:
            if (system != 0) return system_error(system, fmt::format("{} ({})", file, ::sqlite3_errstr(code)));
            [[fallthrough]];
        default:
            return plain_error(fmt::format("{}: {}", file, handle ? ::sqlite3_errmsg(handle) : "out of memory"));
    }
}

void set_reading_limits(sqlite3* handle) {
    ::sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kMostRowBytes);
    ::sqlite3_limit(handle, SQLITE_LIMIT_SQL_LENGTH, kMostSqlBytes);
    ::sqlite3_limit(handle, SQLITE_LIMIT_EXPR_DEPTH, kMostExpressionDepth);
    ::sqlite3_limit(handle, SQLITE_LIMIT_COLUMN, kMostColumns);
    ::sqlite3_limit(handle, SQLITE_LIMIT_VDBE_OP, kMostVdbeOps);
    ::sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
    ::sqlite3_limit(handle, SQLITE_LIMIT_TRIGGER_DEPTH, 1);
    ::sqlite3_limit(handle, SQLITE_LIMIT_WORKER_THREADS, 0);
    ::sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    ::sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    ::sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    ::sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    ::sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
}

// A file name as a URI. SQLite decodes %HH, and takes ? and # as the end of the path.
std::string uri_of(const fs::path& path, std::string_view query) {
    std::string uri = "file:";
    const fs::path absolute = fs::absolute(path);
    for (const char c : absolute.native()) {
        if (c == '%' || c == '?' || c == '#')
            uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
        else
            uri += c;
    }
    return uri += query;
}

}  // namespace

Error Statement::error() const { return sqlite_error(::sqlite3_db_handle(statement_.get()), file_); }

Statement& Statement::bind(int index, std::int64_t value) {
    ::sqlite3_bind_int64(statement_.get(), index, value);
    return *this;
}
Statement& Statement::bind(int index, double value) {
    ::sqlite3_bind_double(statement_.get(), index, value);
    return *this;
}
Statement& Statement::bind_text(int index, std::string_view value) {
    ::sqlite3_bind_text64(statement_.get(), index, value.data(), value.size(), SQLITE_STATIC, SQLITE_UTF8);
    return *this;
}
Statement& Statement::bind_blob(int index, std::string_view value) {
    // A null pointer would bind NULL instead of an empty blob.
    ::sqlite3_bind_blob64(statement_.get(), index, value.empty() ? "" : value.data(), value.size(), SQLITE_STATIC);
    return *this;
}
Statement& Statement::bind_null(int index) {
    ::sqlite3_bind_null(statement_.get(), index);
    return *this;
}

Result<bool> Statement::step() {
    const int code = ::sqlite3_step(statement_.get());
    if (code == SQLITE_ROW) return true;
    if (code != SQLITE_DONE) {
        Error failed = error();
        ::sqlite3_reset(statement_.get());
        return failed;
    }
    ::sqlite3_reset(statement_.get());
    return false;
}

Status Statement::run() {
    for (;;) {
        const auto row = step();
        if (!row) return row.error();
        if (!*row) return Done{};
    }
}

bool Statement::is_null(int column) const { return ::sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }
std::int64_t Statement::integer(int column) const { return ::sqlite3_column_int64(statement_.get(), column); }
double Statement::real(int column) const { return ::sqlite3_column_double(statement_.get(), column); }
std::string_view Statement::bytes(int column) const {
    const void* data = ::sqlite3_column_blob(statement_.get(), column);
    const int size = ::sqlite3_column_bytes(statement_.get(), column);
    return data ? std::string_view(static_cast<const char*>(data), static_cast<std::size_t>(size)) : std::string_view();
}

Error Database::error() const { return sqlite_error(handle_.get(), file_); }

Result<Database> Database::open(const fs::path& path, Mode mode) {
    const bool writes = mode == Mode::write || mode == Mode::copy;
    const std::string uri = uri_of(path, mode == Mode::read_still ? "?immutable=1" : "");
    sqlite3* raw = nullptr;
    // NOMUTEX: a handle is used by one thread at a time.
    const int flags = (writes ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY) | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX |
                      SQLITE_OPEN_PRIVATECACHE | (writes ? SQLITE_OPEN_NOFOLLOW : 0);
    const int code = ::sqlite3_open_v2(uri.c_str(), &raw, flags, nullptr);
    Database database(raw, path.string());
    if (code != SQLITE_OK) return database.error();
    ::sqlite3_extended_result_codes(raw, 1);
    ::sqlite3_busy_timeout(raw, writes ? 200 : 2000);  // milliseconds; only a checkpoint locks readers out, briefly
    if (mode != Mode::write) set_reading_limits(raw);
    const std::string cache = fmt::format("PRAGMA cache_size = -{}", kCacheKiB);
    if (auto set = database.run(cache.c_str()); !set) return set.error();
    return database;
}

Status Database::run(const char* sql) {
    if (::sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) return error();
    return Done{};
}

Result<Statement> Database::prepare(std::string_view sql) {
    sqlite3_stmt* raw = nullptr;
    if (::sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()), 0, &raw, nullptr) != SQLITE_OK)
        return error();
    return Statement(raw, file_);
}

Status Database::copy_from(Database& other) {
    sqlite3_backup* backup = ::sqlite3_backup_init(handle_.get(), "main", other.handle_.get(), "main");
    if (!backup) return error();
    const int stepped = ::sqlite3_backup_step(backup, -1);  // all pages in one read transaction
    const int finished = ::sqlite3_backup_finish(backup);
    if (stepped == SQLITE_DONE && finished == SQLITE_OK) return Done{};
    // The error can concern either file, so the handle of one of them may not have its code.
    return plain_error(fmt::format("copy {} to {}: {}", other.file_, file_,
                                   ::sqlite3_errstr(stepped == SQLITE_DONE ? finished : stepped)));
}

Status Database::checkpoint() {
    const int code = ::sqlite3_wal_checkpoint_v2(handle_.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
    return code == SQLITE_OK || code == SQLITE_BUSY ? Status(Done{}) : Status(error());
}

Status Database::close() {
    // Checkpoints, syncs, and removes the WAL. If a reader has the file open, the WAL stays. That is no failure,
    // because all committed data can be read.
    const int code = ::sqlite3_exec(handle_.get(), "PRAGMA journal_mode = DELETE", nullptr, nullptr, nullptr);
    Status left = code == SQLITE_OK || (code & 0xFF) == SQLITE_BUSY ? Status(Done{}) : Status(error());
    handle_.reset();
    return left;
}

bool is_full(const Error& error) { return error.code == std::errc::no_space_on_device || error.code.value() == EDQUOT; }

}  // namespace memscope::recording
