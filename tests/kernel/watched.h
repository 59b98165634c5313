#pragma once
#include <algorithm>
#include <chrono>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <poll.h>
#include <thread>

#include "outputs/json/tick_json.h"
#include "support/child.h"
#include "support/real_cgroup.h"
#include "watch/collector.h"

namespace memscope {

inline constexpr std::size_t kMiB = 1 << 20;

// A child that does nothing.
inline void sleeper(const Child::Script& script) {
    script.say();
    script.wait();
}

// A collector on the real kernel. If any part does not work, the test fails.
class Watched {
  public:
    explicit Watched(std::vector<std::string> cgroups, bool wait = false)
        : collector_(start({.cgroups = std::move(cgroups), .wait = wait})) {}

    static Watched with(const WatchOptions& options, const SysRoot& root = {}) {
        return Watched(start(options, gather_kernel_facts({}), root));
    }
    // A collector that uses only the kernel features in these facts.
    static Watched on(const KernelFacts& facts, const WatchOptions& options) { return Watched(start(options, facts)); }

    static Watched by_pid(pid_t pid) { return Watched(start({.pid = pid})); }

    // One collector for all tests of a process that use it, because on an emulated kernel (tests/vm) most of the time
    // of a test is loading BPF programs. It watches the cgroups whose names begin with "shared-". The budget is never
    // reached: with the default budget, memscope may pause the hook of page faults, because these processes only grow.
    static Watched shared() {
        static const auto collector = start({.cgroups = {RealCgroup::name_of("shared-*")}, .growth_budget = 1e6});
        Watched watched(collector);
        watched.tick();  // finds cgroups that were created since the previous test
        return watched;
    }

    // Lets helper processes answer first, as they do between the ticks of memscope, which are a second apart. A tick
    // itself does not wait.
    const Snapshot& tick() {
        pollfd events{collector_->events_fd(), POLLIN, 0};
        for (int i = 0; i < 10 && ::poll(&events, 1, 20) == 1; ++i) collector_->on_events();
        auto snapshot = collector_->tick();
        if (!snapshot) throw std::runtime_error(snapshot.error().message());
        latest_ = std::move(*snapshot);
        return latest_;
    }
    // The target after a new tick. Also checks the invariants of every tick.
    const TargetSnapshot& tick(const RealCgroup& cgroup) {
        tick();
        const TargetSnapshot* found = find(cgroup);
        if (!found) throw std::runtime_error(cgroup.name() + " is no target");
        const RoleCounters sum = counters(*found);
        EXPECT_EQ(sum.starts - sum.exits, found->processes.size()) << "processes = starts - exits";
        return *found;
    }
    // Ticks until `holds` is true for the target, because results of helper processes may arrive some ticks later.
    // False if it is not true within some seconds.
    bool tick_until(const RealCgroup& cgroup, const std::function<bool(const TargetSnapshot&)>& holds) {
        for (int i = 0; i < 250; ++i) {
            if (holds(tick(cgroup))) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        return false;
    }
    const TargetSnapshot* find(const RealCgroup& cgroup) const {
        const auto found = std::find_if(latest_.targets.begin(), latest_.targets.end(),
                                        [&](const TargetSnapshot& t) { return t.info.name == cgroup.name(); });
        return found == latest_.targets.end() ? nullptr : &*found;
    }
    bool has_probe(std::string_view name) const {
        return std::any_of(latest_.self.probes.begin(), latest_.self.probes.end(),
                           [&](const Probe& probe) { return probe.name == name && probe.attached; });
    }
    Collector& collector() { return *collector_; }
    const Snapshot& latest() const { return latest_; }

    static RoleCounters counters(const TargetSnapshot& target) {
        RoleCounters sum;
        for (const auto& [key, counters] : target.counters) {
            sum.starts += counters.starts;
            sum.exits += counters.exits;
            sum.faults.minor += counters.faults.minor;
            sum.faults.major += counters.faults.major;
        }
        return sum;
    }
    static const Process* process(const TargetSnapshot& target, pid_t pid) {
        for (const Process& process : target.processes)
            if (process.task.id.pid == pid) return &process;
        return nullptr;
    }
    // Without names of code: on a busy machine a process of a few milliseconds may end before its maps are read.
    void expect_nothing_lost() const {
        for (const auto& [reason, count] : latest_.self.dropped) {
            if (reason != "unnamed_frame") {
                EXPECT_EQ(count, 0U) << reason;
            }
        }
    }
    std::uint64_t unnamed() const { return latest_.self.dropped.at("unnamed_frame"); }
    // `before`: the count that earlier tests with the same collector left.
    void expect_all_named(std::uint64_t before = 0) const { EXPECT_EQ(unnamed(), before); }

  private:
    explicit Watched(std::shared_ptr<Collector> collector) : collector_(std::move(collector)) {}
    static std::shared_ptr<Collector> start(const WatchOptions& options,
                                            const KernelFacts& facts = gather_kernel_facts({}),
                                            const SysRoot& root = {}) {
        auto collector = Collector::start(root, options, facts);
        if (!collector) throw std::runtime_error(collector.error().message());
        return std::make_shared<Collector>(std::move(*collector));
    }

    std::shared_ptr<Collector> collector_;
    Snapshot latest_{};
};

}  // namespace memscope
