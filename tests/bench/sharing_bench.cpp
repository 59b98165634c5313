// How long a large process waits for its own mmap calls while another process reads its pages: all of them in one walk,
// or a sample.
#include <chrono>
#include <sys/mman.h>
#include <thread>

#include "bench/bench.h"
#include "sources/proc/pagemap.h"
#include "sources/proc/smaps_rollup.h"
#include "support/child.h"
#include "support/real_cgroup.h"

namespace memscope {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kSize = std::size_t{4} << 30;  // in pages of 4 KiB
constexpr std::chrono::milliseconds kWindow{600};

double ms(Clock::duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

// On a command, maps and unmaps memory for a while, and reports the longest time of one such pair, in milliseconds.
void mapper(const Child::Script& script) {
    void* held = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (held == MAP_FAILED) throw std::runtime_error("cannot map the memory");
    ::madvise(held, kSize, MADV_NOHUGEPAGE);
    for (std::size_t at = 0; at < kSize; at += 4096) static_cast<volatile char*>(held)[at] = 1;
    script.say("ready");
    for (;;) {
        script.wait();
        double longest = 0;
        for (const auto end = Clock::now() + kWindow; Clock::now() < end;) {
            const auto began = Clock::now();
            ::munmap(::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
            longest = std::max(longest, ms(Clock::now() - began));
        }
        script.say(std::to_string(longest));
    }
}

struct Costs {
    std::vector<double> took{};
    std::vector<double> waited{};
};

template <class Read>
void round(Child& child, Costs& costs, Read read) {
    child.go();
    std::this_thread::sleep_for(kWindow / 3);
    const auto began = Clock::now();
    read();
    costs.took.push_back(ms(Clock::now() - began));
    costs.waited.push_back(std::stod(child.heard()));
}

void print(const char* what, const Costs& costs) {
    fmt::print("| {} | {:.1f} ms | {:.2f} ms | {:.2f} ms |\n", what, median(costs.took), median(costs.waited),
               std::ranges::max(costs.waited));
}

void measure() {
    const RealCgroup job("large");
    Child child(job, mapper);
    child.heard();
    const auto process = open_directory("/proc/" + std::to_string(child.pid()));
    if (!process) throw std::runtime_error(process.error().message());
    const auto must = [](const auto& result) {
        if (!result) throw std::runtime_error(result.error().message());
    };
    constexpr int kRounds = 11;
    Costs nothing, walk, sample;
    for (int i = 0; i < kRounds; ++i) {
        round(child, nothing, [] {});
        round(child, walk, [&] { must(read_smaps_rollup(*process)); });
        round(child, sample, [&] { must(read_page_sample(*process, Seconds{0.020})); });
    }
    fmt::print("A process of 4 GiB in pages of 4 KiB that maps memory all the time\n\n");
    fmt::print(
        "| pages that are read | duration | longest wait, median | longest wait, most |\n| --- | --- | --- | --- |\n");
    print("none", nothing);
    print("all (smaps_rollup)", walk);
    print("a sample", sample);
}

}  // namespace
}  // namespace memscope

int main() { return memscope::report_of(memscope::measure); }
