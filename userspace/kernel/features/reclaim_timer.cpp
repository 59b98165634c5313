#include "kernel/features/reclaim_timer.h"

#include "reclaim.skel.h"
#include "reclaim_plain.skel.h"

namespace memscope {

struct ReclaimTimer::State {
    std::unique_ptr<reclaim_bpf, Release<reclaim_bpf__destroy>> skeleton;
    std::vector<Link> links;
    SharedMaps shared;
};

ReclaimTimer::ReclaimTimer(std::unique_ptr<State> state) : state_(std::move(state)) {}
ReclaimTimer::ReclaimTimer(ReclaimTimer&&) noexcept = default;
ReclaimTimer& ReclaimTimer::operator=(ReclaimTimer&&) noexcept = default;
ReclaimTimer::~ReclaimTimer() = default;

Result<ReclaimTimer> ReclaimTimer::start(const Plan& plan, const FeatureSettings& settings) {
    const auto programs = programs_of(plan, "reclaim");
    if (programs.empty()) return plain_error("this kernel offers nothing for the signal 'reclaim'");
    auto state = std::make_unique<State>();
    state->skeleton.reset(
        open_object(settings, reclaim_bpf__create_skeleton, reclaim_bpf__destroy, reclaim_plain_bpf__elf_bytes));
    if (!state->skeleton) return load_error("reclaim", errno);
    apply_settings(*state->skeleton, settings);
    if (!share_maps(state->skeleton->obj, settings.shared)) return load_error("reclaim", errno);
    load_only(state->skeleton->obj, programs);
    if (const int error = reclaim_bpf__load(state->skeleton.get())) return load_error("reclaim", -error);
    auto links = attach(state->skeleton->obj, programs);
    if (!links) return links.error();
    state->links = std::move(*links);
    state->shared = settings.shared;
    return ReclaimTimer(std::move(state));
}

Status ReclaimTimer::watch(CgroupId target) {
    const ms_reclaim none{};
    if (bpf_map_update_elem(bpf_map__fd(state_->skeleton->maps.reclaim), &target, &none, BPF_ANY) != 0)
        return system_error(errno, "add a target to the map of reclaim stalls");
    return Done{};
}

void ReclaimTimer::unwatch(CgroupId target) {
    bpf_map_delete_elem(bpf_map__fd(state_->skeleton->maps.reclaim), &target);
}

std::optional<ReclaimStalls> ReclaimTimer::read(CgroupId target) const {
    ms_reclaim booked{};
    if (bpf_map_lookup_elem(bpf_map__fd(state_->skeleton->maps.reclaim), &target, &booked) != 0) return std::nullopt;
    const auto seconds = [&](ms_reclaim_by why) { return Seconds(static_cast<double>(booked.stalled_ns[why]) * 1e-9); };
    return ReclaimStalls{.memcg = seconds(MS_RECLAIM_MEMCG),
                         .direct = seconds(MS_RECLAIM_DIRECT),
                         .stalls = booked.stalls[MS_RECLAIM_MEMCG] + booked.stalls[MS_RECLAIM_DIRECT]};
}

void ReclaimTimer::forget_begun_before(std::uint64_t boot_ns) {
    const int map = bpf_map__fd(state_->skeleton->maps.stalled);
    std::vector<__u32> lost;
    __u32 thread = 0;
    // The map changes meanwhile, and a key that is gone makes the walk begin again: hence the bound.
    int left = MS_STALLED_THREADS;
    for (int found = bpf_map_get_next_key(map, nullptr, &thread); found == 0 && left > 0; --left) {
        ms_stall stall{};
        if (bpf_map_lookup_elem(map, &thread, &stall) == 0 && stall.since_ns < boot_ns) lost.push_back(thread);
        found = bpf_map_get_next_key(map, &thread, &thread);
    }
    for (const __u32 each : lost) bpf_map_delete_elem(map, &each);
}

Losses ReclaimTimer::losses() const { return read_losses(state_->skeleton->bss->losses); }
Bytes ReclaimTimer::map_memory() const { return map_bytes(state_->skeleton->obj, state_->shared); }

}  // namespace memscope
