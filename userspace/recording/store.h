#pragma once
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/owned_directory.h"
#include "base/units.h"

namespace memscope {

inline constexpr const char* kRecordingDirectory = "/var/lib/memscope/recordings";
inline constexpr std::string_view kRecordingSuffix = ".memscope";

// The files of recordings in a directory: their names, their owner and their total size. The oldest recordings are
// removed first.
class RecordingStore {
  public:
    // `where` is a directory, or one file if its name ends in ".memscope". Fails if no file can be created there. Call
    // it before privileges are dropped.
    static Result<RecordingStore> open(const fs::path& where, Bytes most);

    // A new, empty file that is locked as long as `lock` is open, so that no other watcher removes it.
    struct NewFile {
        fs::path path{};
        Fd lock{};
    };
    // `time`: seconds since 1970. An existing recording is replaced only if the user has named the file.
    Result<NewFile> create(std::string_view target, double time);

    // Removes the oldest recordings until at most nine tenths of the limit are used. Does so only if more than the
    // limit is used, or with `disk_full`, which removes at least one. Files that are locked, that belong to another
    // user, or that are in `open` stay. Returns the size of the recordings that are left.
    Bytes make_room(const std::set<std::string>& open, bool disk_full = false);

    // Removes a file that create() has returned and that is closed again.
    void discard(const fs::path& path);

    // True if more than 95 % of the file system is used.
    bool disk_nearly_full() const;
    bool takes_one_target() const { return file_.has_value(); }
    const fs::path& path() const { return directory_.path; }
    Bytes most() const { return most_; }

  private:
    RecordingStore(OwnedDirectory directory, std::optional<std::string> file, Bytes most)
        : directory_(std::move(directory)), file_(std::move(file)), most_(most) {}

    OwnedDirectory directory_;
    std::optional<std::string> file_;  // the name of the only file
    Bytes most_;
};

// "train-20261115T150338Z.memscope". At most 200 bytes. Bytes of the target's name that are not letters, digits, '.',
// '_' or '-' are written as %HH.
std::string recording_name(std::string_view target, double unix_seconds);

// Recordings in a directory and in the folders right below it, oldest first.
Result<std::vector<fs::path>> find_recordings(const fs::path& directory);

// Removes a recording that no watcher writes. The name of the file must end in ".memscope".
Status remove_recording(const fs::path& file);

}  // namespace memscope
