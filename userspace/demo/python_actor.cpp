#include "demo/python_actor.h"

#include <array>
#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "base/fd.h"
#include "base/text.h"

namespace memscope {
namespace {

constexpr std::uint64_t kBlock = std::uint64_t{256} << 10;  // of an output that is kept

// Prints the path of the interpreter if memscope can read its objects. A `python3` in PATH can be a script that starts
// another one.
constexpr const char* kProbe =
    "import sys\n"
    "known = sys.implementation.name == 'cpython' and (3, 10) <= sys.version_info[:2] <= (3, 14)\n"
    "with_lock = getattr(sys, '_is_gil_enabled', lambda: True)()\n"
    "if known and with_lock and not hasattr(sys, 'gettotalrefcount'): print(sys.executable)\n";

// Standard output of a program; empty if it fails or takes too long.
std::string output_of(const std::vector<const char*>& words) {
    constexpr int kPatienceMs = 5000;
    constexpr std::size_t kMost = 4096;
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return {};
    const Fd from(ends[0]);
    Fd to(ends[1]);
    const pid_t child = ::fork();
    if (child < 0) return {};
    if (child == 0) {
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
        pollfd waiting{.fd = from.get(), .events = POLLIN, .revents = 0};
        std::array<char, 256> part;
        if (::poll(&waiting, 1, kPatienceMs) <= 0) break;
        const ssize_t got = ::read(from.get(), part.data(), part.size());
        done = got <= 0;
        if (got > 0) text.append(part.data(), static_cast<std::size_t>(got));
    }
    if (!done) ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    return done && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text : std::string();
}

// The scenario's time is computed as StageClock::at() does. A zeroed bytearray has no memory until it is written.
constexpr std::string_view kProgram = R"(
import os, sys, time

class Trainer:
    def __init__(self):
        self.val_outputs = []

    def validate(self, step):
        while len(self.val_outputs) < PLAN[step]:
            output = bytearray(BLOCK)
            output[::4096] = b'x' * (BLOCK // 4096)
            self.val_outputs.append((step, output))

    def run(self):
        while True:
            time.sleep(STEP / SPEED)
            self.validate(step_now())

def step_now():
    began = int.from_bytes(os.pread(CLOCK, 8, 0), sys.byteorder)
    now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    seconds = max(now - began, 0) * 1e-9 * SPEED if began else 0
    return min(int(seconds / STEP), len(PLAN) - 1)

trainer = Trainer()
trainer.validate(0)
with open('/proc/self/comm', 'w') as comm:
    comm.write(NAME)
os.write(READY, b'.')
os.close(READY)
trainer.run()
)";

}  // namespace

std::optional<std::string> find_demo_python() {
    for (const char* program : {"python3", "/usr/bin/python3"}) {
        std::string path(trimmed(output_of({program, "-I", "-S", "-c", kProbe})));
        if (path.starts_with('/') && ::access(path.c_str(), X_OK) == 0) return path;
    }
    return std::nullopt;
}

std::string python_program(const Actor& actor, const StageClock& clock, int ready) {
    constexpr Seconds kStep{0.25};  // on the scenario's clock
    std::vector<std::uint64_t> plan;
    for (Seconds at{0}; at <= kScenarioLength; at += kStep) plan.push_back(actor.holds(at).n / kBlock);
    return fmt::format("CLOCK, READY, SPEED, STEP, BLOCK = {}, {}, {}, {}, {}\nNAME = '{}'\nPLAN = [{}]\n{}",
                       clock.descriptor(), ready, clock.speed(), kStep.count(), kBlock, actor.comm,
                       fmt::join(plan, ", "), kProgram);
}

void become_python(const std::string& python, const Actor& actor, const StageClock& clock, int ready) {
    const int file = ::memfd_create("memscope-demo.py", 0);
    const std::string text = python_program(actor, clock, ready);
    if (file < 0 || ::write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) return;
    for (const int kept : {clock.descriptor(), ready})
        if (::fcntl(kept, F_SETFD, 0) != 0) return;
    // Compiled under a name of its own: lines are shown as train.py:12.
    const std::string start = fmt::format("exec(compile(open('/proc/self/fd/{}').read(), 'train.py', 'exec'))", file);
    ::execl(python.c_str(), python.c_str(), "-I", "-S", "-c", start.c_str(), "memscope", "demo", nullptr);
}

}  // namespace memscope
