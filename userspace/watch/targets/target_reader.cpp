#include "watch/targets/target_reader.h"

#include <algorithm>
#include <utility>

#include "sources/cgroup/cgroup_directory.h"
#include "watch/helpers/tick_reads.h"

namespace memscope {

void MissedTargets::refreshed(std::size_t no_descriptor) {
    const std::size_t before = std::exchange(not_opened_, no_descriptor);
    no_descriptors_ += no_descriptor - std::min(no_descriptor, before);
}

void MissedTargets::not_sampled(const Error& error) {
    if (is_out_of_descriptors(error)) {
        ++not_sampled_;
        ++no_descriptors_;
    } else {
        ++unreadable_;
    }
}

void MissedTargets::describe(SelfSample& self) const {
    self.dropped["target_map_full"] = not_watched_;
    self.dropped["target_unreadable"] = unreadable_;
    self.dropped["target_no_descriptor"] = no_descriptors_;
    self.unwatched_targets = not_opened_ + not_sampled_;
}

TargetReader::TargetReader(const SysRoot& root, const std::shared_ptr<ReadHelpers>& helpers)
    : numa_(root, [helpers](pid_t pid, std::uint64_t number, const NodeSet& memory_nodes) {
          return read_nodes(helpers->quick, pid, number, memory_nodes);
      }) {}

// Removes stalls from the BPF map that began longer ago than any reclaim takes. Their end was not reported, and without
// this the map would fill up.
void TargetReader::sweep_stalls(ReclaimTimer& stalls, std::uint64_t now_ns) {
    constexpr std::uint64_t kLongestStallNs = 600'000'000'000;
    if (now_ns - swept_ns_ < kLongestStallNs) return;
    swept_ns_ = now_ns;
    stalls.forget_begun_before(now_ns - kLongestStallNs);
}

// False: the target has been removed.
bool TargetReader::read_memory(TargetState& target, const HostMemory& host, TargetReadings& readings) {
    auto memory = target.memory->sample(host, readings.processes);
    if (memory) {
        numa_.add(readings.processes, host, *memory);
        readings.memory = std::move(*memory);
        return true;
    }
    if (is_gone(memory.error())) return false;
    missed_.not_sampled(memory.error());
    return true;
}

bool TargetReader::read(const Sources& sources, WatchedTargets& targets, const MachineReadings& machine,
                        ReadingsByTarget& readings) {
    const std::uint64_t now_ns = machine.now.boot_ns;
    if (sources.stalls) {
        for (auto& [id, target] : targets.all()) readings[id].stalls = sources.stalls->read(id);
        sweep_stalls(*sources.stalls, now_ns);
    }
    missed_.begin_tick();
    numa_.begin_tick(now_ns);
    bool all_exist = true;
    for (auto& [id, target] : targets.all()) {
        TargetReadings& out = readings[id];
        all_exist = read_memory(target, machine.host, out) && all_exist;
        if (!out.memory) continue;
        if (sources.gpus) out.gpu = sources.gpus->of(out.processes);
        sources.gpu_probes.describe(out.processes, out.gpu);
        out.shm = target.shm.read(sources.helpers.quick, out.processes, now_ns);
        if (sources.growth && target.judge.wants_lines(std::chrono::nanoseconds(now_ns)))
            out.lines = sources.growth->lines(out.processes);
    }
    return all_exist;
}

}  // namespace memscope
