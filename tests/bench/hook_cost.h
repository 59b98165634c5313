#pragma once
#include <sys/stat.h>
#include <thread>

#include "bench/workload.h"
#include "kernel/session.h"
#include "watch/clock.h"
#include "watch/growth/python_watch.h"

namespace memscope {

// Runs the growth hook without a collector, and reads the cost that the hook measures itself.
class HookCost {
  public:
    explicit HookCost(const RealCgroup& job)
        : helpers_(helpers()), session_(started(job)), python_(helpers_, *session_.find<GrowthStacks>(), true) {
        const auto tasks = session_.scan();
        if (!tasks) throw std::runtime_error(tasks.error().where);
        for (const ScannedTask& scanned : *tasks) {
            if (!scanned.task.memory) continue;
            const ProcessId id = scanned.task.id;
            if (!session_.find<GrowthStacks>()->begin(id, SpaceId{read_clock().boot_ns}, scanned.task.memory->anon))
                throw std::runtime_error("cannot record a process");
            python_.check(id);
        }
        // A helper process finds out which of the processes run Python.
        for (int i = 0; i < 20; ++i) {
            std::this_thread::sleep_for(Seconds{0.1});
            helpers_->pump();
            python_.check_waiting();
        }
    }

    struct Sample {
        double samples = 0, ns = 0, cpu_ms = 0;
    };
    Sample of(const Workload& workload) {
        const GrowthStacks::Cost before = session_.find<GrowthStacks>()->cost();
        const double cpu_ms = workload.round_ms();
        const GrowthStacks::Cost after = session_.find<GrowthStacks>()->cost();
        drain();
        return {static_cast<double>(after.samples - before.samples), static_cast<double>(after.ns - before.ns), cpu_ms};
    }
    std::uint64_t python_frames() const { return python_frames_; }  // of the deepest stack

  private:
    static std::shared_ptr<ReadHelpers> helpers() {
        auto helpers = ReadHelpers::start({});
        if (!helpers) throw std::runtime_error(helpers.error().message());
        return *helpers;
    }
    static Session started(const RealCgroup& job) {
        auto session = Session::start(make_plan(gather_kernel_facts({})),
                                      {.memory_on_v1 = !RealCgroup::v2(), .follow_ranges = true});
        if (!session) throw std::runtime_error(session.error().where);
        if (!session->find<GrowthStacks>()) throw std::runtime_error("growth cannot be recorded on this kernel");
        struct stat directory{};
        if (::stat(job.path().c_str(), &directory) != 0 || !session->watch(CgroupId{directory.st_ino}))
            throw std::runtime_error("cannot watch");
        return std::move(*session);
    }

    void drain() {
        session_.drain({.range = [](const RangeEvent&) {}});
        session_.find<GrowthStacks>()->drain(
            {.code = [](const ms_code&) {},
             .stack = [this](const RawStack& stack) { python_frames_ = std::max(python_frames_, stack.python.size()); },
             .grew = [](const ProcessId&) {},
             .sample = [](const GrowthSample&) {}});
    }

    std::shared_ptr<ReadHelpers> helpers_;
    Session session_;
    PythonWatch python_;
    std::size_t python_frames_ = 0;
};

}  // namespace memscope
