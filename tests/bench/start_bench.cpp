// The time until the first output: loading the BPF objects, and running the program up to its first tick.
#include <chrono>
#include <memory>

#include "bench/bench.h"
#include "kernel/facts.h"
#include "kernel/session.h"
#include "sources/cgroup/cgroup_hierarchy.h"
#include "support/real_cgroup.h"

namespace memscope {
namespace {

constexpr int kRounds = 11;

// Wall time counts here, because a user waits. The best round is the one with the least disturbance by other programs.
struct Times {
    std::vector<double> waited{};
    std::vector<double> cpu{};

    template <class Work>
    void take(Work work, int who) {
        const auto began = std::chrono::steady_clock::now();
        cpu.push_back(cpu_of(work, who));
        waited.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count());
    }
    void print(const char* what) const {
        fmt::print("| {} | {:.0f} ms | {:.0f} ms | {:.0f} ms |\n", what,
                   *std::min_element(waited.begin(), waited.end()), median(waited), median(cpu));
    }
};

enum class Objects { without_gpus, all };

Times measure_loading(Objects objects) {
    const KernelFacts facts = gather_kernel_facts({});
    const auto hierarchy = find_hierarchy({});
    if (!hierarchy) throw std::runtime_error(hierarchy.error().message());
    Times times;
    for (int i = 0; i < kRounds; ++i) {
        std::optional<Session> session;  // destroyed after the measurement, because detaching waits for the kernel
        times.take(
            [&] {
                auto started =
                    Session::start(make_plan(facts), {.memory_on_v1 = hierarchy->version == 1,
                                                      .follow_ranges = true,
                                                      .atomic_exchange = facts.atomic_exchange.value_or(false),
                                                      .many_user_probes = facts.many_user_probes,
                                                      .allocates_at_probes = facts.allocates_at_probes});
                if (!started) throw std::runtime_error(started.error().message());
                session = std::move(*started);
                if (objects == Objects::without_gpus) return;
                if (auto calls = session->start_feature<CudaCalls>(); !calls)
                    throw std::runtime_error(calls.error().message());
                if (auto tensors = session->start_feature<GpuTensors>(); !tensors)
                    throw std::runtime_error(tensors.error().message());
            },
            RUSAGE_SELF);
        if (!session->refused().empty()) throw std::runtime_error(session->refused().front().message());
    }
    return times;
}

Times measure_first_tick() {
    const RealCgroup cgroup("start");
    const std::string command =
        "exec " MEMSCOPE_PROGRAM " --json --listen none --duration 100ms --cgroup " + cgroup.name();
    Times times;
    for (int i = 0; i < kRounds; ++i) {
        std::unique_ptr<FILE, int (*)(FILE*)> program(nullptr, ::pclose);
        char first = 0;
        times.take(
            [&] {
                program.reset(::popen(command.c_str(), "r"));
                if (!program || std::fread(&first, 1, 1, program.get()) != 1)
                    throw std::runtime_error("memscope does not tick");
            },
            RUSAGE_SELF);
        times.cpu.back() =
            cpu_of([&] { program.reset(); }, RUSAGE_CHILDREN);  // the CPU time of a child counts when it has ended
    }
    return times;
}

void measure_all() {
    fmt::print("Time until the first output; {} rounds\n\n", kRounds);
    fmt::print("| | best | median | CPU time, median |\n| --- | --- | --- | --- |\n");
    measure_loading(Objects::without_gpus).print("BPF objects loaded and attached, as on every machine");
    measure_loading(Objects::all).print("with those for CUDA and PyTorch, which wait for a process that has them");
    measure_first_tick().print("from the start of the program to its first tick");
}

}  // namespace
}  // namespace memscope

int main() { return memscope::report_of(memscope::measure_all); }
