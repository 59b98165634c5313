#include "power_cut.h"

#include <algorithm>
#include <fstream>
#include <new>
#include <optional>
#include <sqlite3.h>
#include <stdexcept>

namespace memscope::test {
namespace {

constexpr std::size_t kSector = 512;  // bytes that a disk writes at once

PowerCut* active = nullptr;
sqlite3_vfs* real = nullptr;

// SQLite allocates szOsFile bytes: this, and behind it the file of the real VFS.
struct LoggedFile {
    sqlite3_file base;
    char name[256];

    sqlite3_file* inner() { return reinterpret_cast<sqlite3_file*>(this + 1); }
    static LoggedFile& of(sqlite3_file* file) { return *reinterpret_cast<LoggedFile*>(file); }
};

// The inner file of an open LoggedFile.
sqlite3_file* inner(sqlite3_file* file) { return LoggedFile::of(file).inner(); }
const sqlite3_io_methods* methods(sqlite3_file* file) { return inner(file)->pMethods; }

void log(sqlite3_file* file, PowerCut::Kind kind, std::int64_t offset = 0, std::string bytes = {}) {
    if (active) active->add({kind, LoggedFile::of(file).name, offset, std::move(bytes)});
}

int write_file(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
    const int code = methods(file)->xWrite(inner(file), data, size, offset);
    if (code == SQLITE_OK)
        log(file, PowerCut::Kind::write, offset, {static_cast<const char*>(data), static_cast<std::size_t>(size)});
    return code;
}

int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
    const int code = methods(file)->xTruncate(inner(file), size);
    if (code == SQLITE_OK) log(file, PowerCut::Kind::truncate, size);
    return code;
}

int sync_file(sqlite3_file* file, int flags) {
    const int code = methods(file)->xSync(inner(file), flags);
    if (code == SQLITE_OK) log(file, PowerCut::Kind::sync);
    return code;
}

const sqlite3_io_methods kLoggedMethods = {
    .iVersion = 2,  // without memory maps of the database, whose writes would not be seen here
    .xClose = [](sqlite3_file* file) { return methods(file)->xClose(inner(file)); },
    .xRead = [](sqlite3_file* file, void* to, int size,
                sqlite3_int64 offset) { return methods(file)->xRead(inner(file), to, size, offset); },
    .xWrite = write_file,
    .xTruncate = truncate_file,
    .xSync = sync_file,
    .xFileSize = [](sqlite3_file* file, sqlite3_int64* size) { return methods(file)->xFileSize(inner(file), size); },
    .xLock = [](sqlite3_file* file, int kind) { return methods(file)->xLock(inner(file), kind); },
    .xUnlock = [](sqlite3_file* file, int kind) { return methods(file)->xUnlock(inner(file), kind); },
    .xCheckReservedLock = [](sqlite3_file* file,
                             int* held) { return methods(file)->xCheckReservedLock(inner(file), held); },
    .xFileControl = [](sqlite3_file* file, int what,
                       void* value) { return methods(file)->xFileControl(inner(file), what, value); },
    .xSectorSize = [](sqlite3_file*) { return static_cast<int>(kSector); },
    // 0 is a disk that writes sectors in any order, and any part of an interrupted write.
    .xDeviceCharacteristics = [](sqlite3_file*) { return 0; },
    .xShmMap = [](sqlite3_file* file, int region, int size, int extend,
                  void volatile** to) { return methods(file)->xShmMap(inner(file), region, size, extend, to); },
    .xShmLock = [](sqlite3_file* file, int offset, int count,
                   int flags) { return methods(file)->xShmLock(inner(file), offset, count, flags); },
    .xShmBarrier = [](sqlite3_file* file) { methods(file)->xShmBarrier(inner(file)); },
    .xShmUnmap = [](sqlite3_file* file, int remove) { return methods(file)->xShmUnmap(inner(file), remove); },
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

int open_file(sqlite3_vfs*, sqlite3_filename path, sqlite3_file* file, int flags, int* out_flags) {
    if (!active || !path || !active->is_logged(path)) return real->xOpen(real, path, file, flags, out_flags);
    auto* logged = ::new (file) LoggedFile{};
    const std::string name = fs::path(path).filename().string();
    name.copy(logged->name, std::min(name.size(), sizeof logged->name - 1));
    const int code = real->xOpen(real, path, logged->inner(), flags, out_flags);
    // SQLite closes a file whose methods are set, also if it could not be opened.
    logged->base.pMethods = logged->inner()->pMethods ? &kLoggedMethods : nullptr;
    return code;
}

int remove_file(sqlite3_vfs*, const char* path, int sync_directory) {
    const int code = real->xDelete(real, path, sync_directory);
    if (code == SQLITE_OK && active && active->is_logged(path))
        active->add({PowerCut::Kind::remove, fs::path(path).filename().string(), 0, {}});
    return code;
}

sqlite3_vfs& logging_vfs() {
    static sqlite3_vfs vfs = [] {
        sqlite3_vfs made = *real;  // all other functions are those of the real one, which ignore their first argument
        made.pNext = nullptr;
        made.zName = "power-cut";
        made.szOsFile = static_cast<int>(sizeof(LoggedFile)) + real->szOsFile;
        made.xOpen = open_file;
        made.xDelete = remove_file;
        return made;
    }();
    return vfs;
}

using Content = std::optional<std::string>;  // none: the file is not there

void apply(Content& content, const PowerCut::Operation& operation) {
    if (operation.kind == PowerCut::Kind::sync) return;
    if (operation.kind == PowerCut::Kind::remove) {
        content.reset();
        return;
    }
    if (!content) content.emplace();
    const auto offset = static_cast<std::size_t>(operation.offset);
    if (operation.kind == PowerCut::Kind::truncate) {
        content->resize(offset);
        return;
    }
    content->resize(std::max(content->size(), offset + operation.bytes.size()));
    content->replace(offset, operation.bytes.size(), operation.bytes);
}

// Any sectors of a write.
void apply_partly(Content& content, const PowerCut::Operation& operation, std::mt19937& random) {
    if (operation.kind != PowerCut::Kind::write) {
        if (random() % 2 == 0) apply(content, operation);
        return;
    }
    for (std::size_t done = 0; done < operation.bytes.size();) {
        const std::size_t offset = static_cast<std::size_t>(operation.offset) + done;
        const std::size_t size = std::min(kSector - offset % kSector, operation.bytes.size() - done);
        if (random() % 2 == 0)
            apply(content,
                  {PowerCut::Kind::write, {}, static_cast<std::int64_t>(offset), operation.bytes.substr(done, size)});
        done += size;
    }
}

}  // namespace

PowerCut::PowerCut(fs::path directory) : directory_(std::move(directory)) {
    if (active) throw std::logic_error("another PowerCut logs already");
    if (!real) real = ::sqlite3_vfs_find(nullptr);
    ::sqlite3_vfs_register(&logging_vfs(), 1);
    active = this;
}

PowerCut::~PowerCut() {
    active = nullptr;
    ::sqlite3_vfs_register(real, 1);
}

bool PowerCut::is_logged(const char* path) const {
    const fs::path file(path);
    return file.parent_path() == directory_ && file.extension().string().find("-shm") == std::string::npos;
}

std::size_t PowerCut::syncs(std::size_t first) const {
    return static_cast<std::size_t>(std::count_if(log_.begin() + static_cast<std::ptrdiff_t>(first), log_.end(),
                                                  [](const Operation& each) { return each.kind == Kind::sync; }));
}

void PowerCut::restore(std::size_t count, std::mt19937& random, const fs::path& to) const {
    std::map<std::string, std::size_t> synced;  // the number of operations until the last sync of the file
    for (std::size_t i = 0; i < count; ++i)
        if (log_[i].kind == Kind::sync || log_[i].kind == Kind::remove) synced[log_[i].file] = i;
    std::map<std::string, Content> files;
    for (std::size_t i = 0; i < count; ++i) {
        const auto safe = synced.find(log_[i].file);
        if (safe != synced.end() && i <= safe->second)
            apply(files[log_[i].file], log_[i]);
        else
            apply_partly(files[log_[i].file], log_[i], random);
    }
    for (const auto& [name, content] : files)
        if (content) std::ofstream(to / name, std::ios::binary) << *content;
}

}  // namespace memscope::test
