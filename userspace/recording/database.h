#pragma once
#include <cstdint>
#include <memory>
#include <sqlite3.h>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/result.h"

// Owners of SQLite's handles. All errors name the file.
namespace memscope::recording {

class Statement {
  public:
    Statement() = default;

    // Parameters are numbered from 1. Text and blobs must live until the statement was run.
    Statement& bind(int index, std::int64_t value);
    Statement& bind(int index, double value);
    Statement& bind_text(int index, std::string_view value);
    Statement& bind_blob(int index, std::string_view value);
    Statement& bind_null(int index);

    // True: there is a row. False: the statement is done, and was reset.
    Result<bool> step();
    Status run();  // for statements without rows

    bool is_null(int column) const;
    std::int64_t integer(int column) const;
    double real(int column) const;
    std::string_view bytes(int column) const;  // valid until the next step

  private:
    friend class Database;
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const { ::sqlite3_finalize(statement); }
    };
    Statement(sqlite3_stmt* statement, std::string file) : statement_(statement), file_(std::move(file)) {}
    Error error() const;

    std::unique_ptr<sqlite3_stmt, Finalize> statement_{};
    std::string file_{};
};

class Database {
  public:
    enum class Mode {
        write,      // the file exists already and belongs to us
        copy,       // like `write`, but the content will be copied from a file that is not trusted
        read,       // the file is not trusted
        read_still  // like `read`, but no process writes the file, so SQLite needs no files beside it
    };
    static Result<Database> open(const fs::path& path, Mode mode);

    Status run(const char* sql);
    Result<Statement> prepare(std::string_view sql);
    // Replaces the content by that of the other database, as of its last commit.
    Status copy_from(Database& other);
    // Copies the WAL into the database file and syncs it, as far as that is possible without waiting for readers.
    Status checkpoint();
    std::int64_t last_row() const { return ::sqlite3_last_insert_rowid(handle_.get()); }
    // Call this at the end of writing, when no Statement of this database exists any more.
    Status close();

  private:
    struct Close {
        void operator()(sqlite3* handle) const { ::sqlite3_close_v2(handle); }
    };
    Database(sqlite3* handle, std::string file) : handle_(handle), file_(std::move(file)) {}
    Error error() const;

    std::unique_ptr<sqlite3, Close> handle_{};
    std::string file_{};
};

// True if the disk is full, or if a quota is used up.
bool is_full(const Error& error);

}  // namespace memscope::recording
