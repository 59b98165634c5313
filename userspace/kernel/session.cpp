#include "kernel/session.h"

#include <unistd.h>

namespace memscope {

Result<Session> Session::start(const Plan& plan, const SessionSettings& wanted) {
    capture_libbpf_messages();
    FeatureSettings settings{.memory_on_v1 = wanted.memory_on_v1,
                             .watcher_pid = static_cast<unsigned>(::getpid()),
                             .spawner_pid = static_cast<unsigned>(wanted.spawner),
                             .follow_mappings = wanted.follow_mappings && !programs_of(plan, "memory").empty(),
                             .follow_ranges = wanted.follow_ranges && wanted.follow_mappings &&
                                              !program_of(plan, "memory", "sys_exit").empty() &&
                                              !program_of(plan, "memory", "sys_enter").empty(),
                             .follow_descendants = wanted.follow_descendants,
                             .atomic_exchange = wanted.atomic_exchange,
                             .many_user_probes = wanted.many_user_probes,
                             .allocates_at_probes = wanted.allocates_at_probes,
                             .gpu_live = wanted.gpu_live,
                             .tensors = wanted.tensors};
    auto tree = ProcessTree::start(plan, settings);
    if (!tree) return tree.error();
    settings.shared = tree->shared_maps();
    auto tasks = TaskScan::start(plan, settings);
    if (!tasks) return tasks.error();
    auto death_ring = DeathRing::open(settings.shared.at("deaths"));
    if (!death_ring) return death_ring.error();
    Session session(std::move(*tree), std::move(*tasks), std::move(*death_ring));
    if (settings.follow_ranges) {
        auto ring = RangeRing::open(settings.shared.at("ranges"));
        if (!ring) return ring.error();
        session.ranges_ = std::move(*ring);
    }
    if (wanted.follow_growth) {  // before `memory`, which takes stacks, too
        auto growth = GrowthStacks::start(plan, settings);
        if (growth) {
            session.growth_ = std::make_unique<GrowthStacks>(std::move(*growth));
            settings.shared.merge(session.growth_->shared_maps());
            settings.follow_growth = true;
        } else {
            session.refused_.push_back(growth.error());
        }
    }
    if (settings.follow_mappings) {
        auto memory = MappingCalls::start(plan, settings);
        if (memory)
            session.memory_ = std::move(*memory);
        else
            session.refused_.push_back(memory.error());
    }
    if (!programs_of(plan, "reclaim").empty()) {
        auto reclaim = ReclaimTimer::start(plan, settings);
        if (reclaim)
            session.reclaim_ = std::move(*reclaim);
        else
            session.refused_.push_back(reclaim.error());
    }
    if (!programs_of(plan, "deaths").empty()) {
        auto deaths = FatalSignals::start(plan, settings);
        if (deaths)
            session.deaths_ = std::move(*deaths);
        else
            session.refused_.push_back(deaths.error());
    }
    if (const auto& refusal = session.tasks_.refusal()) session.refused_.push_back(*refusal);
    for (const Choice& choice : plan) {
        // Not wanted until somebody has mapped a driver, or PyTorch.
        if (choice.feature == "gpu" || choice.feature == "torch") continue;
        const bool off =
            (choice.feature == "memory" && !session.memory_) || (choice.feature == "growth" && !session.growth_) ||
            (choice.feature == "reclaim" && !session.reclaim_) || (choice.feature == "deaths" && !session.deaths_) ||
            (choice.hook == "sys_enter" && !session.follows_ranges()) ||
            (choice.hook == "quick_scan" && !session.tasks_.is_quick());
        session.probes_.push_back(
            {std::string(choice.feature) + "_" + std::string(choice.hook), !off && !choice.program.empty()});
    }
    session.plan_ = plan;
    session.settings_ = settings;
    return session;
}

Status Session::start_gpu() {
    if (gpu_) return Done{};
    auto gpu = CudaCalls::start(plan_, settings_);
    if (!gpu) return gpu.error();
    gpu_ = std::make_unique<CudaCalls>(std::move(*gpu));
    return Done{};
}

Status Session::start_torch() {
    if (torch_) return Done{};
    auto torch = TorchProbes::start(plan_, settings_);
    if (!torch) return torch.error();
    torch_ = std::make_unique<TorchProbes>(std::move(*torch));
    return Done{};
}

Status Session::watch(CgroupId target) {
    if (reclaim_)
        if (auto added = reclaim_->watch(target); !added) return added;
    return tree_.watch(target);
}

void Session::unwatch(CgroupId target) {
    tree_.unwatch(target);
    if (reclaim_) reclaim_->unwatch(target);
}

Status Session::pause_memory() {
    if (!memory_) return plain_error("the signal 'memory' is off");
    memory_->detach();
    return Done{};
}

Status Session::resume_memory() {
    if (!memory_) return plain_error("the signal 'memory' is off");
    return memory_->attach();
}

std::optional<std::uint64_t> Session::lost_ranges(pid_t process) const {
    return read_lost_ranges(tree_.mappings_map(), process);
}

Losses Session::losses() const {
    Losses sum = tree_.losses();
    if (ranges_) sum["malformed_record"] += ranges_->malformed();
    sum["malformed_record"] += death_ring_.malformed();
    for (const auto& [reason, count] : tasks_.losses()) sum[reason] += count;
    if (memory_)
        for (const auto& [reason, count] : memory_->losses()) sum[reason] += count;
    if (growth_)
        for (const auto& [reason, count] : growth_->losses()) sum[reason] += count;
    if (reclaim_)
        for (const auto& [reason, count] : reclaim_->losses()) sum[reason] += count;
    if (deaths_)
        for (const auto& [reason, count] : deaths_->losses()) sum[reason] += count;
    if (gpu_)
        for (const auto& [reason, count] : gpu_->losses()) sum[reason] += count;
    if (torch_)
        for (const auto& [reason, count] : torch_->losses()) sum[reason] += count;
    return sum;
}

// The shared maps are counted once, with the object that made them: the others have only their own.
Bytes Session::map_memory() const {
    return tree_.map_memory() + tasks_.map_memory() + (memory_ ? memory_->map_memory() : Bytes{}) +
           (growth_ ? growth_->map_memory() : Bytes{}) + (reclaim_ ? reclaim_->map_memory() : Bytes{}) +
           (deaths_ ? deaths_->map_memory() : Bytes{}) + (gpu_ ? gpu_->map_memory() : Bytes{}) +
           (torch_ ? torch_->map_memory() : Bytes{});
}

}  // namespace memscope
