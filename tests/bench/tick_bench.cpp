// The cost of a tick and a scrape with N processes, compared with a reader of /proc/*/status and with process-exporter
// in one run.
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <memory>

#include "bench/bench.h"
#include "bench/crowd.h"
#include "outputs/metrics/metric_table.h"
#include "watch/collector.h"

namespace memscope {
namespace {

// The cheapest complete reader of /proc/*/status: list, open, read, close, find three numbers. No allocation.
std::size_t read_statuses() {
    std::size_t sum = 0;
    char path[300];
    char text[4096];
    DIR* const proc = ::opendir("/proc");
    while (const dirent* entry = ::readdir(proc)) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
        std::snprintf(path, sizeof path, "/proc/%s/status", entry->d_name);
        const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0) continue;
        const ssize_t n = ::read(fd, text, sizeof text - 1);
        ::close(fd);
        text[n > 0 ? n : 0] = 0;
        for (const char* key : {"RssAnon:", "RssFile:", "RssShmem:"})
            if (const char* at = std::strstr(text, key)) sum += std::strtoul(at + std::strlen(key), nullptr, 10);
    }
    ::closedir(proc);
    return sum;
}

void measure_ticks(const Crowd& crowd, int threads) {
    auto collector = Collector::start({}, {.cgroups = {crowd.cgroup()}});
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
    std::vector<double> ticks, readers, ratios, pages;
    std::size_t sum = 0;
    for (int i = 0; i < kRounds; ++i) {
        ticks.push_back(cpu_of(tick, RUSAGE_THREAD));
        readers.push_back(cpu_of([&] { sum += read_statuses(); }));
        ratios.push_back(readers.back() / std::max(ticks.back(), 1e-3));
        pages.push_back(cpu_of([&] { sum += render_prometheus(snapshot).size(); }));
    }
    if (snapshot.targets.front().processes.size() < crowd.pids().size() || sum == 0)
        throw std::runtime_error("processes are missing");
    fmt::print("| {} x {} | {:.2f} ms | {:.2f} ms | {:.1f} | {:.2f} ms |\n", crowd.pids().size(), threads,
               median(ticks), median(readers), median(ratios), median(pages));
}

// Debian's prometheus-process-exporter with its own defaults, everything grouped by name.
class Exporter {
  public:
    static constexpr const char* kPath = "/usr/bin/prometheus-process-exporter";

    std::string page() const { return scrape(port_); }
    Program& program() { return program_; }

  private:
    static std::string config() {
        const std::string path = std::filesystem::temp_directory_path() / "memscope-bench-exporter.yml";
        std::ofstream(path) << "process_names:\n  - name: '{{.Comm}}'\n    cmdline: ['.+']\n";
        return path;
    }

    int port_ = free_port();
    Program program_{{kPath, "-config.path", config(), "-web.listen-address", "127.0.0.1:" + std::to_string(port_)}};
};

template <class Scraped>
double cost_of_scrape(Scraped& scraped, std::string& page) {
    const double before = scraped.program().cpu_ms();
    page = scraped.page();
    return scraped.program().cpu_ms() - before;
}

std::string mib(pid_t pid) {
    return fmt::format("{:.0f} MiB", static_cast<double>(status_number(pid, "VmRSS")) / 1024);
}

std::string measure_programs(const Crowd& crowd, int threads) {
    Watcher watcher(crowd.cgroup());
    if (!watcher.watches()) throw std::runtime_error("memscope does not watch");
    std::string page = watcher.next_page();
    constexpr int kSeconds = 5;  // at the default interval as many ticks
    const double before = watcher.program().cpu_ms();
    ::sleep(kSeconds);
    const double tick = (watcher.program().cpu_ms() - before) / kSeconds;

    std::unique_ptr<Exporter> exporter;
    std::string theirs;
    if (std::filesystem::exists(Exporter::kPath)) {
        exporter = std::make_unique<Exporter>();
        if (!eventually([&] { return !(theirs = exporter->page()).empty(); }))
            throw std::runtime_error("process-exporter does not answer");
    }
    const int rounds = threads == 1 ? 5 : 1;  // it takes ten seconds to visit 50,000 threads
    std::vector<double> scrapes, exports;
    for (int i = 0; i < rounds; ++i) {
        for (int k = 0; k < 5; ++k) scrapes.push_back(cost_of_scrape(watcher, page));
        if (exporter) exports.push_back(cost_of_scrape(*exporter, theirs));
    }
    const auto wanted = static_cast<double>(crowd.pids().size());
    if (metric(page, "memscope_processes").value_or(0) < wanted) throw std::runtime_error("processes are missing");
    if (exporter && metric(theirs, "namedprocess_namegroup_num_procs").value_or(0) < wanted)
        throw std::runtime_error("process-exporter misses processes");
    const std::string ours = fmt::format("| {} x {} | {:.2f} ms | {:.2f} ms | {} | ", crowd.pids().size(), threads,
                                         tick, median(scrapes), mib(watcher.program().pid()));
    if (!exporter) return ours + "not installed | | |\n";
    return ours + fmt::format("{:.0f} ms | {} | {:.0f} |\n", median(exports), mib(exporter->program().pid()),
                              median(exports) / (tick + median(scrapes)));
}

struct Size {
    int processes;
    int threads;
};

std::unique_ptr<Crowd> crowd_of(const Size& size) {
    const int processes = affordable(size.processes, size.threads);
    if (processes < size.processes)
        fmt::print("(this machine has room for {} processes of {} threads only)\n", processes, size.threads);
    return std::make_unique<Crowd>(processes, size.threads);
}

void measure_all() {
    fmt::print("A tick (whole collector), and a C reader that visits the processes of the machine; CPU time\n\n");
    fmt::print("| processes x threads | tick | `/proc/*/status` in C | ratio | making the page |\n");
    fmt::print("| --- | --- | --- | --- | --- |\n");
    std::string programs;
    for (const Size size : {Size{10, 1}, Size{100, 1}, Size{1000, 1}, Size{1000, 50}}) {
        const auto crowd = crowd_of(size);
        measure_ticks(*crowd, size.threads);
        if (size.processes >= 1000) programs += measure_programs(*crowd, size.threads);
    }
    fmt::print("\nThe program at its default interval, and process-exporter as it is installed; CPU time\n\n");
    fmt::print("| processes x threads | tick | scrape | resident | process-exporter: scrape | resident | ratio |\n");
    fmt::print("| --- | --- | --- | --- | --- | --- | --- |\n{}", programs);
}

}  // namespace
}  // namespace memscope

int main() { return memscope::report_of(memscope::measure_all); }
