#pragma once
#include <ctime>
#include <gtest/gtest.h>
#include <set>
#include <sys/stat.h>

#include "kernel/session.h"
#include "model/growth/mapped_growth.h"
#include "sources/proc/process_maps.h"
#include "support/child.h"
#include "support/real_cgroup.h"

namespace memscope {

// A session that follows ranges, with the maps built from them. If any part does not work, the test fails.
class Followed {
  public:
    explicit Followed(const RealCgroup& cgroup) : session_(start(cgroup)) {}

    // One round like that of a watcher: drain the ring buffer, read /proc/PID/maps, drain again, then update the
    // process table.
    void round() {
        session_.drain({.tree = [](const TreeEvent&) {}});
        const auto apply = [this](const RangeEvent& event) { growth_.apply(event); };
        session_.drain({.range = apply});
        for (const ProcessId id : growth_.to_be_read()) read(id);
        session_.drain({.range = apply});
        const auto tasks = session_.scan();
        if (!tasks) throw std::runtime_error(tasks.error().message());
        ids_.clear();
        for (const ScannedTask& scanned : *tasks) ids_[scanned.task.id.pid] = scanned.task.id;
        for (const auto& [pid, id] : ids_)
            if (const auto lost = session_.tree().lost_ranges(pid)) growth_.track(id, *lost);
    }
    // Repeats until no address space has to be read.
    void settle() {
        const timespec pause{.tv_sec = 0, .tv_nsec = 120'000'000};
        for (int i = 0; i < 12; ++i) {
            round();
            if (growth_.to_be_read().empty()) return;
            ::nanosleep(&pause, nullptr);
        }
    }

    const RangeMap& ranges(pid_t pid) const {
        const auto found = ids_.find(pid);
        const auto process = found == ids_.end() ? std::nullopt : growth_.find(found->second);
        if (!process) throw std::runtime_error("no ranges of " + std::to_string(pid));
        return process->ranges;
    }
    bool knows(pid_t pid) const {
        bool known = false;
        growth_.visit([&](const MappedGrowth::Process& process) { known = known || process.id.pid == pid; });
        return known;
    }
    std::uint64_t reconciled(pid_t pid) const { return growth_.find(ids_.at(pid))->reconciled; }
    std::uint64_t lost() const { return session_.losses().at("ranges_full"); }
    Session& session() { return session_; }
    MappedGrowth& growth() { return growth_; }

  private:
    static Session start(const RealCgroup& cgroup) {
        const KernelFacts facts = gather_kernel_facts({});
        const Plan plan = make_plan(facts);
        auto session = Session::start(plan, {.memory_on_v1 = !RealCgroup::v2(),
                                             .follow_ranges = true,
                                             .atomic_exchange = facts.atomic_exchange.value_or(false)});
        if (!session) throw std::runtime_error(session.error().message());
        if (!session->refused().empty()) throw std::runtime_error(session->refused().front().message());
        if (!session->follows_ranges()) throw std::runtime_error("this kernel offers no ranges");
        struct stat directory{};
        if (::stat(cgroup.path().c_str(), &directory) != 0) throw std::runtime_error("stat the cgroup");
        if (auto watching = session->watch(CgroupId{directory.st_ino}); !watching)
            throw std::runtime_error(watching.error().message());
        return std::move(*session);
    }
    void read(ProcessId id) {
        timespec now{};
        ::clock_gettime(CLOCK_BOOTTIME, &now);
        const auto maps = read_process_maps({}, id.pid);
        if (maps)
            growth_.reconcile(
                id, found_ranges(*maps),
                static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec));
        else
            growth_.end(id);
    }

    Session session_;
    MappedGrowth growth_{};
    std::map<pid_t, ProcessId> ids_{};
};

// Ranges of writable memory in /proc/PID/maps; neighbours are joined.
inline std::vector<AddressRange> writable_memory(pid_t pid) {
    std::vector<AddressRange> ranges;
    const auto maps = read_process_maps({}, pid);
    if (!maps) throw std::runtime_error(maps.error().message());
    for (const FoundRange& found : found_ranges(*maps)) {
        if (!is_memory(found.kind) || !found.access.writable) continue;
        if (!ranges.empty() && ranges.back().end == found.range.begin)
            ranges.back().end = found.range.end;
        else
            ranges.push_back(found.range);
    }
    return ranges;
}

}  // namespace memscope
