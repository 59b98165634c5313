// The cost of being watched for a tree that forks and execs as fast as it can, compared with the same tree unwatched.
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench.h"
#include "support/child.h"
#include "support/real_cgroup.h"
#include "watch/collector.h"

namespace memscope {
namespace {

// A process in `job` that, on a command, starts `count` processes one after the other and reports their CPU time.
// It is forked before the collector exists, because otherwise its forks would also copy the collector's memory.
void churner(const Child::Script& script, int count, bool with_exec) {
    for (;;) {
        script.wait();
        const auto both = [] { return cpu_ms() + cpu_ms(RUSAGE_CHILDREN); };
        const double before = both();
        for (int i = 0; i < count; ++i) {
            const pid_t pid = ::fork();
            if (pid == 0) {
                if (with_exec) ::execl("/bin/true", "true", nullptr);
                ::_exit(0);
            }
            ::waitpid(pid, nullptr, 0);
        }
        script.say(std::to_string(both() - before));
    }
}

void measure(const char* what, int count, bool with_exec) {
    const RealCgroup job("churn");
    Child child(job, [&](const Child::Script& script) { churner(script, count, with_exec); });
    const auto churn = [&] {
        child.go();
        return std::stod(child.heard());
    };
    constexpr int kRounds = 15;
    std::vector<double> watched, unwatched, ratios;
    churn();
    for (int i = 0; i < kRounds; ++i) {
        unwatched.push_back(churn());
        auto collector = Collector::start({}, {.cgroups = {job.name()}});
        if (!collector || !collector->tick()) throw std::runtime_error("cannot watch");
        watched.push_back(churn());
        ratios.push_back(watched.back() / unwatched.back());
    }
    fmt::print("| {} | {:.0f} us | {:.0f} us | {:.2f} |\n", what, median(unwatched) * 1e3 / count,
               median(watched) * 1e3 / count, median(ratios));
}

void measure_all() {
    fmt::print("CPU time of one process start and end in the tree\n\n");
    fmt::print("| | unwatched | watched | ratio |\n| --- | --- | --- | --- |\n");
    measure("fork", 1000, false);
    measure("fork + exec", 500, true);
}

}  // namespace
}  // namespace memscope

int main() { return memscope::report_of(memscope::measure_all); }
