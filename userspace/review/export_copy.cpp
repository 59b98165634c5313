#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

#include "base/files.h"
#include "review/export.h"

namespace memscope {
namespace {

constexpr const char* kAdviceForSpace = "set TMPDIR to a directory with enough space";

// A directory of our own, removed with all that is in it. SQLite makes files beside the copy.
class TemporaryDirectory {
  public:
    static Result<TemporaryDirectory> make() {
        std::error_code failed;
        // SQLite refuses symbolic links in the path of a file that it writes.
        const fs::path parent = fs::canonical(fs::temp_directory_path(failed), failed);
        if (failed) return Error{failed, "find a directory for temporary files", kAdviceForSpace};
        std::string name = (parent / "memscope-XXXXXX").string();
        if (!::mkdtemp(name.data()))
            return system_error(errno, "make a directory in " + parent.string(), kAdviceForSpace);
        return TemporaryDirectory(std::move(name));
    }
    TemporaryDirectory(TemporaryDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
    ~TemporaryDirectory() {
        std::error_code ignored;
        if (!path_.empty()) fs::remove_all(path_, ignored);
    }
    const fs::path& path() const { return path_; }

  private:
    explicit TemporaryDirectory(fs::path path) : path_(std::move(path)) {}

    fs::path path_;
};

}  // namespace

Status export_recording_copy(Recording& recording, const WriteText& write) {
    const auto directory = TemporaryDirectory::make();
    if (!directory) return directory.error();
    const fs::path path = directory->path() / "copy.memscope";
    const Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file) return system_error(errno, "write " + path.string(), kAdviceForSpace);
    if (auto copied = recording.copy_to(path); !copied)
        return Error{copied.error().code, copied.error().where, kAdviceForSpace};
    std::string piece(std::size_t{1} << 20U, '\0');
    for (;;) {
        const ssize_t got = ::read(file.get(), piece.data(), piece.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return system_error(errno, "read " + path.string());
        if (got == 0) return Done{};
        if (auto written = write(std::string_view(piece).substr(0, static_cast<std::size_t>(got))); !written)
            return written;
    }
}

}  // namespace memscope
