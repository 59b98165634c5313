// The additional cost of recording single ranges: a second hook on every system call, and an event for each range of a
// watched tree.
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/bench.h"
#include "kernel/session.h"
#include "support/child.h"
#include "support/real_cgroup.h"

namespace memscope {
namespace {

double getpid_ns() {
    constexpr int kCalls = 400'000;
    return cpu_of([] {
               for (int i = 0; i < kCalls; ++i) ::syscall(SYS_getpid);
           }) *
           1e6 / kCalls;
}

double map_ns() {
    constexpr int kCalls = 10'000;  // fewer events than the ring holds
    constexpr std::size_t kBytes = 128 * 1024;
    return cpu_of([] {
               for (int i = 0; i < kCalls; ++i)
                   ::munmap(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                            kBytes);
           }) *
           1e6 / kCalls;
}

Session started(const RealCgroup& cgroup, bool ranges) {
    const KernelFacts facts = gather_kernel_facts({});
    auto session = Session::start(make_plan(facts), {.memory_on_v1 = !RealCgroup::v2(), .follow_ranges = ranges});
    struct stat directory{};
    if (!session || ::stat(cgroup.path().c_str(), &directory) != 0 || !session->watch(CgroupId{directory.st_ino}) ||
        !session->scan())
        throw std::runtime_error("cannot watch");
    return std::move(*session);
}

void measure_all() {
    const RealCgroup job("ranges");
    Child child(job, [](const Child::Script& script) {
        for (;;) {
            script.wait();
            script.say(std::to_string(getpid_ns()));
            script.say(std::to_string(map_ns()));
        }
    });
    std::vector<double> calls[3], maps[3];
    const auto note = [&](std::size_t at) {
        child.go();
        calls[at].push_back(std::stod(child.heard()));
        maps[at].push_back(std::stod(child.heard()));
    };
    for (int i = 0; i < 15; ++i) {
        note(0);
        for (const bool ranges : {false, true}) {
            Session session = started(job, ranges);
            note(ranges ? 2 : 1);
            session.drain({.range = [](const RangeEvent&) {}});
            if (session.losses().at("ranges_full") != 0) throw std::runtime_error("events were lost");
        }
    }
    fmt::print("CPU time of a call in a watched process, without stacks\n\n");
    fmt::print("| | alone | mapped bytes | and ranges |\n| --- | --- | --- | --- |\n");
    fmt::print("| getpid() | {:.0f} ns | {:.0f} ns | {:.0f} ns |\n", median(calls[0]), median(calls[1]),
               median(calls[2]));
    fmt::print("| mmap() + munmap() | {:.0f} ns | {:.0f} ns | {:.0f} ns |\n", median(maps[0]), median(maps[1]),
               median(maps[2]));
}

}  // namespace
}  // namespace memscope

int main() { return memscope::report_of(memscope::measure_all); }
