#include "base/files.h"

#include <fcntl.h>

namespace memscope {
namespace {

Result<Fd> open_at(int directory, const char* name, int flags) {
    for (;;) {
        const int fd = ::openat(directory, name, flags | O_CLOEXEC);
        if (fd >= 0) return Fd(fd);
        if (errno != EINTR) return system_error(errno, std::string("open ") + name);
    }
}

Result<std::string> read_all(int directory, const char* name, std::size_t most) {
    auto file = open_at(directory, name, O_RDONLY | O_NOCTTY);
    if (!file) return file.error();
    std::string text;
    char buffer[16384];
    while (text.size() < most) {
        const ssize_t n = ::read(file->get(), buffer, std::min(sizeof buffer, most - text.size()));
        if (n == 0) break;
        if (n > 0)
            text.append(buffer, static_cast<std::size_t>(n));
        else if (errno != EINTR)
            return system_error(errno, std::string("read ") + name);
    }
    return text;
}

}  // namespace

Result<std::string> read_file(const fs::path& path, std::size_t most) { return read_all(AT_FDCWD, path.c_str(), most); }
Result<std::string> read_file_at(const Fd& directory, const char* name, std::size_t most) {
    return read_all(directory.get(), name, most);
}
bool is_out_of_descriptors(const Error& error) {
    return error.code == std::errc::too_many_files_open || error.code == std::errc::too_many_files_open_in_system;
}
Result<Fd> open_directory(const fs::path& path) { return open_at(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY); }
Result<Fd> open_directory_at(const Fd& directory, const char* name) {
    return open_at(directory.get(), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

}  // namespace memscope
