// What a tick costs at N processes, beside a reader of /proc/PID/status in the same run.
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <unistd.h>

#include "bench/bench.h"
#include "outputs/prometheus.h"
#include "support/child.h"
#include "support/real_cgroup.h"
#include "watch/collector.h"

namespace memscope {
namespace {

// The cheapest honest reader: open, read, close, find three numbers. No allocation.
std::size_t read_statuses(const std::vector<pid_t>& pids) {
    std::size_t sum = 0;
    char path[32];
    char text[4096];
    for (const pid_t pid : pids) {
        std::snprintf(path, sizeof path, "/proc/%d/status", pid);
        const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0) continue;
        const ssize_t n = ::read(fd, text, sizeof text - 1);
        ::close(fd);
        text[n > 0 ? n : 0] = 0;
        for (const char* key : {"RssAnon:", "RssFile:", "RssShmem:"})
            if (const char* at = std::strstr(text, key)) sum += std::strtoul(at + std::strlen(key), nullptr, 10);
    }
    return sum;
}

void measure(int processes) {
    const RealCgroup job("bench");
    Child parent(job, [processes](const Child::Script& script) {
        std::string pids;
        for (int i = 0; i < processes; ++i) {
            const pid_t pid = ::fork();
            if (pid == 0) {
                touch(64 * 4096);
                for (;;) ::pause();
            }
            pids += std::to_string(pid) + " ";
        }
        ::sleep(2);
        script.say(pids);
        script.wait();
    });
    std::vector<pid_t> pids;
    const std::string said = parent.heard();
    for (const char* at = said.c_str(); *at;) {
        char* end = nullptr;
        const long pid = std::strtol(at, &end, 10);
        if (end == at || pid <= 0) break;
        pids.push_back(static_cast<pid_t>(pid));
        at = end;
    }

    auto collector = Collector::start({}, {.cgroups = {job.name()}});
    if (!collector) throw std::runtime_error(collector.error().message());
    Snapshot snapshot;
    const auto tick = [&] {
        auto taken = collector->tick();
        if (!taken) throw std::runtime_error(taken.error().message());
        snapshot = std::move(*taken);
    };
    tick();  // reads /proc once for each process
    tick();
    constexpr int kRounds = 31;
    std::vector<double> ticks, readers, ratios, scrapes;
    std::size_t sum = 0;
    for (int i = 0; i < kRounds; ++i) {
        ticks.push_back(cpu_of(tick));
        readers.push_back(cpu_of([&] { sum += read_statuses(pids); }));
        ratios.push_back(readers.back() / std::max(ticks.back(), 1e-3));
        scrapes.push_back(cpu_of([&] { sum += render_prometheus(snapshot).size(); }));
    }
    if (snapshot.targets.front().processes.size() < pids.size() || sum == 0)
        throw std::runtime_error("processes are missing");
    fmt::print("{:5} processes: tick {:6.2f} ms, /proc/PID/status {:6.2f} ms, ratio {:5.1f}; a scrape {:.2f} ms\n",
               processes, median(ticks), median(readers), median(ratios), median(scrapes));
}

}  // namespace
}  // namespace memscope

int main() {
    fmt::print("CPU time per tick (whole collector) and of a C reader that visits the same processes\n");
    for (const int processes : {10, 100, 1000}) memscope::measure(processes);
}
