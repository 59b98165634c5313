#include "cli/recordings/new_file.h"

#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace memscope {

Status write_new_file(const fs::path& path, const std::string& option,
                      const std::function<Status(const WriteText&)>& produce) {
    struct stat found{};
    if (::stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode))
        return plain_error(path.string() + ": is not a regular file", "choose another file for " + option);
    std::string name = path.string() + ".XXXXXX";
    const Fd file(::mkostemp(name.data(), O_CLOEXEC));
    if (!file) return system_error(errno, "write " + path.string());
    const WriteText write = [&](std::string_view rest) -> Status {
        while (!rest.empty()) {
            const ssize_t put = ::write(file.get(), rest.data(), rest.size());
            if (put < 0 && errno == EINTR) continue;
            if (put < 0) return system_error(errno, "write " + name);
            rest.remove_prefix(static_cast<std::size_t>(put));
        }
        return Done{};
    };
    Status done = produce(write);
    if (done && (::fchmod(file.get(), 0640) != 0 || ::rename(name.c_str(), path.c_str()) != 0))
        done = system_error(errno, "write " + path.string());
    if (!done) (void)::unlink(name.c_str());
    return done;
}

}  // namespace memscope
