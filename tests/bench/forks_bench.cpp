// Checks that memscope counts 20,000 processes that start and exit in the watched tree as fast as this machine can
// start them.
#include <memory>
#include <sys/wait.h>

#include "bench/bench.h"
#include "bench/program.h"
#include "support/child.h"
#include "support/real_cgroup.h"

namespace memscope {
namespace {

constexpr int kProcesses = 20'000;
constexpr int kParents = 4;

void start_and_end(int count, bool with_exec) {
    for (int i = 0; i < count; ++i) {
        const pid_t pid = ::fork();
        if (pid == 0) {
            if (with_exec) ::execl("/bin/true", "true", nullptr);
            ::_exit(0);
        }
        if (pid < 0 || ::waitpid(pid, nullptr, 0) != pid) ::_exit(1);
    }
}

double seconds_now() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void measure(const char* what, bool with_exec) {
    const RealCgroup job("forks");
    std::vector<std::unique_ptr<Child>> parents;
    for (int i = 0; i < kParents; ++i)
        parents.push_back(std::make_unique<Child>(job, [with_exec](const Child::Script& script) {
            script.say();
            script.wait();
            start_and_end(kProcesses / kParents, with_exec);
            script.say();
            script.wait();
        }));
    for (const auto& parent : parents) parent->heard();
    Watcher watcher(job.name());
    const std::string before = watcher.next_page();
    if (metric(before, "memscope_processes").value_or(0) != kParents) throw std::runtime_error("parents are missing");

    const double cpu = watcher.program().cpu_ms();
    const double began = seconds_now();
    for (const auto& parent : parents) parent->go();
    for (const auto& parent : parents) parent->heard();
    const double took = seconds_now() - began;
    const std::string after = watcher.next_page();
    const double us_each = (watcher.program().cpu_ms() - cpu) * 1e3 / kProcesses;

    const auto risen = [&](const char* name) {
        return metric(after, name).value_or(0) - metric(before, name).value_or(0);
    };
    const double starts = risen("memscope_process_starts_total"), exits = risen("memscope_process_exits_total");
    const double dropped = risen("memscope_events_dropped_total");
    fmt::print("| {} | {:.1f} s | {:.0f} | {:.0f} | {:.0f} | {:.0f} | {:.1f} us | {:.0f} MiB |\n", what, took,
               kProcesses / took, starts, exits, dropped, us_each,
               static_cast<double>(status_number(watcher.program().pid(), "VmHWM")) / 1024);
    if (starts != kProcesses || exits != kProcesses || dropped != 0)
        throw std::runtime_error("not every start and exit was counted");
}

void measure_all() {
    fmt::print("{} processes that {} parents start and end, watched at the default interval\n\n", kProcesses, kParents);
    fmt::print(
        "| | took | processes/s | starts counted | exits counted | dropped | memscope's CPU each | its peak resident "
        "|\n");
    fmt::print("| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    measure("fork", false);
    measure("fork + exec", true);
}

}  // namespace
}  // namespace memscope

int main() { return memscope::report_of(memscope::measure_all); }
