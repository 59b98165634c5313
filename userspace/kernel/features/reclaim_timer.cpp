#include "kernel/features/reclaim_timer.h"

#include "kernel/bpf/bpf_object.h"
#include "reclaim.skel.h"
#include "reclaim_plain.skel.h"

namespace memscope {

struct ReclaimTimer::State {
    BpfObject<reclaim_bpf> object;
};

ReclaimTimer::ReclaimTimer(std::unique_ptr<State> state) : state_(std::move(state)) {}
ReclaimTimer::~ReclaimTimer() = default;

Result<std::unique_ptr<ReclaimTimer>> ReclaimTimer::start(const Plan& plan, const FeatureSettings& settings) {
    const auto programs = programs_of(plan, kName);
    auto object = BpfObject<reclaim_bpf>::load(kName, {reclaim_bpf__create_skeleton, reclaim_plain_bpf__elf_bytes},
                                               settings, programs);
    if (!object) return object.error();
    if (auto attached = object->attach(programs); !attached) return attached.error();
    return std::unique_ptr<ReclaimTimer>(new ReclaimTimer(std::make_unique<State>(State{std::move(*object)})));
}

Status ReclaimTimer::watch(CgroupId target) {
    const ms_reclaim none{};
    if (bpf_map_update_elem(bpf_map__fd(state_->object->maps.reclaim), &target, &none, BPF_ANY) != 0)
        return system_error(errno, "add a target to the BPF map of reclaim stalls");
    return Done{};
}

void ReclaimTimer::unwatch(CgroupId target) { bpf_map_delete_elem(bpf_map__fd(state_->object->maps.reclaim), &target); }

std::optional<ReclaimStalls> ReclaimTimer::read(CgroupId target) const {
    ms_reclaim counted{};
    if (bpf_map_lookup_elem(bpf_map__fd(state_->object->maps.reclaim), &target, &counted) != 0) return std::nullopt;
    const auto seconds = [&](ms_reclaim_by why) {
        return Seconds(static_cast<double>(counted.stalled_ns[why]) * 1e-9);
    };
    return ReclaimStalls{.memcg = seconds(MS_RECLAIM_MEMCG),
                         .direct = seconds(MS_RECLAIM_DIRECT),
                         .stalls = counted.stalls[MS_RECLAIM_MEMCG] + counted.stalls[MS_RECLAIM_DIRECT]};
}

void ReclaimTimer::forget_begun_before(std::uint64_t boot_ns) {
    const int map = bpf_map__fd(state_->object->maps.stalled);
    std::vector<__u32> lost;
    __u32 thread = 0;
    // Bounded, because the map changes meanwhile, and a deleted key makes the walk start again.
    int left = MS_STALLED_THREADS;
    for (int found = bpf_map_get_next_key(map, nullptr, &thread); found == 0 && left > 0; --left) {
        ms_stall stall{};
        if (bpf_map_lookup_elem(map, &thread, &stall) == 0 && stall.since_ns < boot_ns) lost.push_back(thread);
        found = bpf_map_get_next_key(map, &thread, &thread);
    }
    for (const __u32 each : lost) bpf_map_delete_elem(map, &each);
}

Losses ReclaimTimer::losses() const { return state_->object.losses(); }
Bytes ReclaimTimer::map_memory() const { return state_->object.map_memory(); }

}  // namespace memscope
