#pragma once
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <poll.h>
#include <string>
#include <sys/mman.h>

#include "kernel/watched.h"

namespace memscope {

// What the tests of growth share: a child that grows, and the growth that memscope reports of it.

inline void* map(std::size_t bytes) {
    return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

// If a function without a frame pointer, such as memset(), touches a page, its caller is missing in the stack.
[[gnu::always_inline]] inline void touch_all(void* memory, std::size_t bytes) {
    auto* at = static_cast<volatile char*>(memory);
    for (std::size_t i = 0; i < bytes; i += 4096) at[i] = 1;
}

// Functions that the tests find by name. growth_test.cpp has them.
extern "C" {
void grow_here(std::size_t bytes);
void* map_here(std::size_t bytes);
}

inline std::int64_t sum(const GrowthPlane& plane) {
    std::int64_t bytes = 0;
    for (const GrowthSite& site : plane.sites) bytes += site.bytes;
    for (const UnattributedGrowth& other : plane.unattributed) bytes += other.bytes;
    return bytes;
}

// Growth at stacks that contain the function.
inline std::int64_t at(const GrowthPlane& plane, const std::string& function) {
    std::int64_t bytes = 0;
    for (const GrowthSite& site : plane.sites)
        for (const NativeFrame& frame : site.native)
            if (frame.symbol.find(function) != std::string::npos) {
                bytes += site.bytes;
                break;
            }
    return bytes;
}

inline std::int64_t at_sites(const GrowthPlane& plane) {
    std::int64_t bytes = 0;
    for (const GrowthSite& site : plane.sites) bytes += site.bytes;
    return bytes;
}

inline std::int64_t reason(const GrowthPlane& plane, const std::string& word) {
    for (const UnattributedGrowth& other : plane.unattributed)
        if (other.reason == word) return other.bytes;
    return 0;
}

inline std::int64_t anon(const TargetSnapshot& target) {
    std::int64_t bytes = 0;
    for (const Process& process : target.processes)
        if (process.task.memory) bytes += static_cast<std::int64_t>(process.task.memory->anon.n);
    return bytes;
}

inline void expect_about(std::int64_t got, std::int64_t wanted) {
    EXPECT_NEAR(static_cast<double>(got), static_cast<double>(wanted), 0.02 * static_cast<double>(std::abs(wanted)));
}

// Resident growth is sampled.
inline void expect_sampled(std::int64_t got, std::int64_t wanted) {
    EXPECT_NEAR(static_cast<double>(got), static_cast<double>(wanted), 0.1 * static_cast<double>(std::abs(wanted)));
}

// Ticks whenever the kernel has sent events, until `done` is true of the target. False after a minute without it.
template <class Done>
bool ticks_until(Watched& watched, const RealCgroup& job, Done done) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!done(watched.tick(job))) {
        if (std::chrono::steady_clock::now() >= give_up) return false;
        pollfd events{.fd = watched.collector().events_fd(), .events = POLLIN, .revents = 0};
        ::poll(&events, 1, 100);  // ms; a scan finds some changes without an event
    }
    return true;
}

// Helper processes read what names the stacks: on a busy machine some ticks later.
inline bool is_named(const Growth& growth) {
    return reason(growth.resident, "pending") + reason(growth.mapped, "pending") == 0;
}

// Does not look for addresses of page faults on the stack of the kernel.
inline Watched watched_by_events(const RealCgroup& job) {
    KernelFacts facts = gather_kernel_facts({});
    facts.fault_addresses = false;
    return Watched::on(facts, {.cgroups = {job.name()}});
}

// A child that waits, then runs the function, then waits again.
struct GrownChild {
    using Watch = std::function<Watched(const RealCgroup&)>;
    template <class Do>
    explicit GrownChild(
        const char* name, Do what, const Watch& watch = [](const RealCgroup&) { return Watched::shared(); })
        : job(name),
          child(job,
                [what](const Child::Script& script) {
                    script.say();
                    script.wait();
                    what();
                    script.say();
                    script.wait();
                }),
          watched(watch(job)) {
        child.heard();
        before = anon(watched.tick(job));
        const std::uint64_t unnamed = watched.unnamed();
        child.go();
        child.heard();
        const bool named = ticks_until(watched, job, [this](const TargetSnapshot& target) {
            change = anon(target) - before;
            growth = watched.collector().growth()->report(target);
            return anon(target) > 0 && is_named(growth);  // a tick on a very busy machine can miss the process
        });
        EXPECT_TRUE(named);
        watched.expect_nothing_lost();
        watched.expect_all_named(unnamed);
    }

    const RealCgroup job;
    Child child;
    Watched watched;
    std::int64_t before = 0;
    std::int64_t change = 0;
    Growth growth{};
};

}  // namespace memscope
