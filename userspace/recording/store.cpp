#include "recording/store.h"

#include <algorithm>
#include <cctype>
#include <ctime>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/statvfs.h>

namespace memscope {
namespace {

constexpr const char* kAdvice = "choose another directory with --record, or switch it off with --record none";
constexpr std::size_t kMostNameBytes = 200;
constexpr int kMostSameNames = 100;  // recordings of one target that begin in the same second
constexpr double kMostDiskShare = 0.95;

bool is_recording_name(std::string_view name) { return name.ends_with(kRecordingSuffix) && !name.starts_with('.'); }

// SQLite's files beside a database.
constexpr std::string_view kSides[] = {"-wal", "-shm", "-journal"};

Bytes size_with_sides(const Fd& directory, const std::string& name) {
    Bytes sum;
    struct stat file{};
    if (::fstatat(directory.get(), name.c_str(), &file, AT_SYMLINK_NOFOLLOW) == 0)
        sum += Bytes{static_cast<std::uint64_t>(file.st_size)};
    for (const std::string_view side : kSides)
        if (::fstatat(directory.get(), (name + std::string(side)).c_str(), &file, AT_SYMLINK_NOFOLLOW) == 0)
            sum += Bytes{static_cast<std::uint64_t>(file.st_size)};
    return sum;
}

void remove_with_sides(const Fd& directory, const std::string& name) {
    for (const std::string_view side : kSides) (void)::unlinkat(directory.get(), (name + std::string(side)).c_str(), 0);
    (void)::unlinkat(directory.get(), name.c_str(), 0);
}

// Locked as long as the descriptor is open. Must not be called for a database that this process has open: closing any
// descriptor of a file releases the POSIX locks that SQLite holds on it.
Result<Fd> lock_file(const Fd& directory, const std::string& name) {
    Fd file(::openat(directory.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file) return system_error(errno, "open " + name);
    struct stat found{};
    if (::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode))
        return plain_error(name + ": is not a regular file");
    if (!is_ours(found)) return plain_error(name + ": belongs to another user");
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return plain_error(name + ": is being written");
    return file;
}

Result<Fd> create_file(const OwnedDirectory& directory, const std::string& name) {
    Fd file(::openat(directory.fd.get(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) return system_error(errno, "write " + (directory.path / name).string(), kAdvice);
    give_to(directory.group, file);
    if (::fchmod(file.get(), 0640) != 0 || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0)
        return system_error(errno, "write " + (directory.path / name).string(), kAdvice);
    return file;
}

// SQLite opens files by path and refuses symbolic links in it, so the path must have none.
Result<fs::path> without_links(const fs::path& path) {
    std::error_code failed;
    fs::path real = fs::canonical(path, failed);
    if (failed) return Error{failed, "open directory " + path.string(), kAdvice};
    return real;
}

}  // namespace

Result<RecordingStore> RecordingStore::open(const fs::path& where, Bytes most) {
    std::optional<std::string> name;
    OwnedDirectory directory;
    if (where.native().ends_with(kRecordingSuffix)) {
        name = where.filename().string();
        const fs::path parent = where.has_parent_path() ? where.parent_path() : fs::path(".");
        auto opened = open_directory(parent);
        if (!opened) return Error{opened.error().code, opened.error().where, kAdvice};
        directory = {.path = parent, .fd = *std::move(opened), .group = {}};
    } else {
        // The default is two levels below /var/lib. The upper level is also the directory of death reports.
        if (where == kRecordingDirectory)
            if (auto above = open_owned_directory(where.parent_path(), "--record"); !above) return above.error();
        auto opened = open_owned_directory(where, "--record");
        if (!opened) return opened.error();
        directory = *std::move(opened);
    }
    auto real = without_links(directory.path);
    if (!real) return real.error();
    directory.path = *std::move(real);
    // Permission bits do not say whether a file can be created: the file system may be read-only, or /proc.
    const std::string probe = fmt::format(".recording-{}", ::getpid());
    (void)::unlinkat(directory.fd.get(), probe.c_str(), 0);  // left over from a killed watcher with our pid
    if (auto made = create_file(directory, probe); !made) return made.error();
    (void)::unlinkat(directory.fd.get(), probe.c_str(), 0);
    return RecordingStore(std::move(directory), std::move(name), most);
}

Result<RecordingStore::NewFile> RecordingStore::create(std::string_view target, double time) {
    if (file_) {
        struct stat found{};
        if (::fstatat(directory_.fd.get(), file_->c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0) {
            const auto lock = lock_file(directory_.fd, *file_);
            if (!lock) return plain_error((directory_.path / lock.error().where).string(), "choose another file");
            remove_with_sides(directory_.fd, *file_);
        }
        auto made = create_file(directory_, *file_);
        if (!made) return made.error();
        return NewFile{directory_.path / *file_, *std::move(made)};
    }
    const std::string first = recording_name(target, time);
    const std::string stem = first.substr(0, first.size() - kRecordingSuffix.size());
    for (int n = 1; n <= kMostSameNames; ++n) {
        const std::string name = n == 1 ? first : fmt::format("{}-{}{}", stem, n, kRecordingSuffix);
        auto made = create_file(directory_, name);
        if (made) return NewFile{directory_.path / name, *std::move(made)};
        if (made.error().code != std::errc::file_exists) return made.error();
    }
    return plain_error("too many recordings are called " + (directory_.path / first).string());
}

Bytes RecordingStore::make_room(const std::set<std::string>& open, bool disk_full) {
    struct Entry {
        std::string name{};
        Bytes size{};
        timespec changed{};
    };
    if (file_) return size_with_sides(directory_.fd, *file_);
    std::vector<Entry> files;
    Bytes sum;
    for (const std::string& name : names_in(directory_.fd)) {
        struct stat file{};
        if (!is_recording_name(name)) continue;
        if (::fstatat(directory_.fd.get(), name.c_str(), &file, AT_SYMLINK_NOFOLLOW) != 0) continue;
        if (!S_ISREG(file.st_mode) || !is_ours(file)) continue;
        files.push_back({name, size_with_sides(directory_.fd, name), file.st_mtim});
        sum += files.back().size;
    }
    if (sum <= most_ && !disk_full) return sum;
    std::ranges::sort(files, {},
                      [](const Entry& each) { return std::pair(each.changed.tv_sec, each.changed.tv_nsec); });
    const Bytes wanted{most_.n - most_.n / 10};
    bool removed = !disk_full;
    for (const Entry& file : files) {
        if (sum <= wanted && removed) break;
        if (open.contains(file.name)) continue;
        if (const auto lock = lock_file(directory_.fd, file.name); !lock) continue;
        remove_with_sides(directory_.fd, file.name);
        sum = sum - file.size;
        removed = true;
    }
    return sum;
}

void RecordingStore::discard(const fs::path& path) { remove_with_sides(directory_.fd, path.filename().string()); }

bool RecordingStore::disk_nearly_full() const {
    struct statvfs disk{};
    if (::fstatvfs(directory_.fd.get(), &disk) != 0 || disk.f_blocks == 0) return false;
    // Blocks that only root may use count as used.
    return static_cast<double>(disk.f_bavail) < (1 - kMostDiskShare) * static_cast<double>(disk.f_blocks);
}

std::string recording_name(std::string_view target, double unix_seconds) {
    const auto seconds = static_cast<std::time_t>(unix_seconds);
    std::tm at{};
    ::gmtime_r(&seconds, &at);
    const std::string end = fmt::format("-{}{:02}{:02}T{:02}{:02}{:02}Z{}", at.tm_year + 1900, at.tm_mon + 1,
                                        at.tm_mday, at.tm_hour, at.tm_min, at.tm_sec, kRecordingSuffix);
    const std::size_t most = kMostNameBytes - end.size() - 3;  // 3: room for "-99"
    // The end of a long name is more useful than its beginning, as in system.slice/docker-0f3a....scope.
    std::string plain;
    for (auto c = target.rbegin(); c != target.rend(); ++c) {
        const bool keep = std::isalnum(static_cast<unsigned char>(*c)) != 0 || *c == '.' || *c == '-' || *c == '_';
        std::string escaped = keep ? std::string(1, *c) : fmt::format("%{:02X}", static_cast<unsigned char>(*c));
        if (plain.size() + escaped.size() > most) break;
        plain.insert(0, escaped);
    }
    if (plain.empty() || plain.front() == '.') plain.insert(0, "_");  // names with a leading dot are hidden
    return plain + end;
}

Result<std::vector<fs::path>> find_recordings(const fs::path& directory) {
    const auto top = open_directory(directory);
    if (!top) return top.error();
    std::vector<std::pair<std::time_t, fs::path>> found;
    const auto add_from = [&found](const Fd& in, const fs::path& path) {
        for (const std::string& name : names_in(in)) {
            struct stat file{};
            if (!is_recording_name(name) || ::fstatat(in.get(), name.c_str(), &file, AT_SYMLINK_NOFOLLOW) != 0)
                continue;
            if (S_ISREG(file.st_mode)) found.emplace_back(file.st_mtime, path / name);
        }
    };
    add_from(*top, directory);
    for (const std::string& name : names_in(*top)) {
        if (name.starts_with('.')) continue;
        if (const auto folder = open_directory_at(*top, name.c_str())) add_from(*folder, directory / name);
    }
    std::ranges::stable_sort(found);
    std::vector<fs::path> paths;
    paths.reserve(found.size());
    for (auto& [time, path] : found) paths.push_back(std::move(path));
    return paths;
}

Status remove_recording(const fs::path& file) {
    if (!is_recording_name(file.filename().native()))
        return plain_error(file.string() + ": is not a recording", "its name does not end in .memscope");
    const auto directory = open_directory(file.has_parent_path() ? file.parent_path() : fs::path("."));
    if (!directory) return directory.error();
    const std::string name = file.filename().string();
    struct stat found{};
    if (::fstatat(directory->get(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0)
        return system_error(errno, "remove " + file.string());
    const Fd opened(::openat(directory->get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!opened) return system_error(errno, "remove " + file.string());
    if (::flock(opened.get(), LOCK_EX | LOCK_NB) != 0)
        return plain_error(file.string() + ": a watcher is writing it", "end the watcher first");
    if (::unlinkat(directory->get(), name.c_str(), 0) != 0) return system_error(errno, "remove " + file.string());
    for (const std::string_view side : kSides)
        (void)::unlinkat(directory->get(), (name + std::string(side)).c_str(), 0);
    return Done{};
}

}  // namespace memscope
