#include "demo/demo_python.h"

#include <array>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "watch/clock.h"

namespace memscope {
namespace {

constexpr Seconds kProbePatience{5};
constexpr Seconds kTorchPatience{25};

// Prints the path and version of the interpreter if memscope can read its objects. A `python3` in PATH can be a script
// that starts another one.
constexpr const char* kProbe =
    "import platform, sys\n"
    "known = sys.implementation.name == 'cpython' and (3, 10) <= sys.version_info[:2] <= (3, 15)\n"
    "with_lock = getattr(sys, '_is_gil_enabled', lambda: True)()\n"
    "if known and with_lock and not hasattr(sys, 'gettotalrefcount'):\n"
    "    print(sys.executable, platform.python_version(), sep='\\n')\n";

// Prints version and memory only if a tensor can be made, because a broken installation can be imported, but not used.
constexpr const char* kTorchProbe =
    "import torch\n"
    "torch.nn.Linear(2, 2)(torch.ones(2)).sum().backward()\n"
    "print(torch.__version__)\n"
    "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('RssAnon:')))\n";

// Standard output of a program; empty if it fails or takes too long.
std::string output_of(const std::vector<const char*>& words, Seconds patience) {
    constexpr std::size_t kMost = 4096;
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return {};
    const Fd from(ends[0]);
    Fd to(ends[1]);
    const std::uint64_t began_ns = read_clock().boot_ns;
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child < 0) return {};
    if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) ::_exit(127);  // the parent has ended before this call
        const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
        ::dup2(null, STDIN_FILENO);
        ::dup2(null, STDERR_FILENO);
        ::dup2(to.get(), STDOUT_FILENO);
        std::vector<char*> argv;
        argv.reserve(words.size() + 1);
        for (const char* word : words) argv.push_back(const_cast<char*>(word));
        argv.push_back(nullptr);
        ::execvp(argv.front(), argv.data());
        ::_exit(127);
    }
    to = Fd();
    std::string text;
    bool done = false;
    while (!done && text.size() < kMost) {
        const Seconds left = patience - Seconds{static_cast<double>(read_clock().boot_ns - began_ns) * 1e-9};
        pollfd waiting{.fd = from.get(), .events = POLLIN, .revents = 0};
        if (left.count() <= 0 || ::poll(&waiting, 1, static_cast<int>(left.count() * 1000) + 1) <= 0) break;
        std::array<char, 256> part;
        const ssize_t got = ::read(from.get(), part.data(), part.size());
        done = got <= 0;
        if (got > 0) text.append(part.data(), static_cast<std::size_t>(got));
    }
    if (!done) ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    return done && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text : std::string();
}

std::vector<std::string> lines_of(const std::vector<const char*>& words, Seconds patience) {
    std::vector<std::string> lines;
    for_each_line(output_of(words, patience), [&lines](std::string_view line) { lines.emplace_back(trimmed(line)); });
    return lines;
}

std::optional<DemoPython> usable(const char* program) {
    const std::vector<std::string> lines = lines_of({program, "-I", "-S", "-c", kProbe}, kProbePatience);
    if (lines.size() < 2 || !lines[0].starts_with('/') || ::access(lines[0].c_str(), X_OK) != 0) return std::nullopt;
    return DemoPython{.program = lines[0], .version = printable(lines[1])};
}

// Uses the same options as the job, which runs without user site-packages and without PYTHON* variables.
void look_for_torch(DemoPython& python) {
    const auto lines = lines_of({python.program.c_str(), "-E", "-s", "-B", "-c", kTorchProbe}, kTorchPatience);
    const auto kibibytes = lines.size() < 2 ? std::nullopt : parse_number(lines[1]);
    if (!kibibytes) return;
    python.torch = printable(lines[0]);
    python.imported = Bytes{*kibibytes << 10};
}

}  // namespace

std::optional<DemoPython> find_demo_python(bool want_torch) {
    std::optional<DemoPython> first;
    for (const char* program : {"python3", "/usr/bin/python3"}) {
        auto found = usable(program);
        if (!found || (first && found->program == first->program)) continue;
        if (want_torch) look_for_torch(*found);
        if (!want_torch || !found->torch.empty()) return found;
        if (!first) first = std::move(found);
    }
    return first;
}

}  // namespace memscope
