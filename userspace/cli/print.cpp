#include "cli/print.h"

#include <cerrno>
#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace memscope {

Status print(std::string_view text) {
    while (!text.empty()) {
        const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
        if (n >= 0)
            text.remove_prefix(static_cast<std::size_t>(n));
        else if (errno != EINTR)
            return system_error(errno, "standard output");
    }
    return Done{};
}

void print_error(const Error& error) {
    const std::string line = "memscope: " + error.message() + "\n";
    [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, line.data(), line.size());
}

void guard_standard_streams() {
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (::fcntl(fd, F_GETFD) == -1 && errno == EBADF)  // open() takes the lowest free number: this one
            [[maybe_unused]]
            const int filled = ::open("/dev/null", O_RDONLY);
}

}  // namespace memscope
