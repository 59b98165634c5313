#pragma once
#include <functional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "kernel/capabilities.h"

namespace memscope {

inline CapabilitySet own(const char* set) { return parse_capabilities(*read_file("/proc/self/status"), set); }

// Runs `body` in a separate process, because capabilities cannot be regained. `body` returns its error text, empty if
// there is none.
inline std::string in_a_process(const std::function<std::string()>& body) {
    int ends[2];
    if (::pipe(ends) != 0) return "no pipe";
    const pid_t pid = ::fork();
    if (pid == 0) {
        const std::string wrong = body();
        [[maybe_unused]] const auto told = ::write(ends[1], wrong.data(), wrong.size());
        ::_exit(wrong.empty() ? 0 : 1);
    }
    ::close(ends[1]);
    std::string heard;
    char buffer[512];
    for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;)
        heard.append(buffer, static_cast<std::size_t>(n));
    ::close(ends[0]);
    int status = 0;
    ::waitpid(pid, &status, 0);
    return heard.empty() && status != 0 ? "ended with " + std::to_string(status) : heard;
}

}  // namespace memscope
