#include "kernel/features/process_tree.h"

#include <cstring>

#include "kernel/bpf/bpf_object.h"
#include "kernel/bpf/event_ring.h"
#include "kernel/features/decode.h"
#include "tree.skel.h"
#include "tree_plain.skel.h"
#include <memscope/shared/ranges.h>

namespace memscope {
namespace {

std::optional<std::uint64_t> read_lost_ranges(int mappings_map, pid_t process) {
    bpf_map_info info{};
    __u32 size = sizeof info;
    if (bpf_obj_get_info_by_fd(mappings_map, &info, &size) != 0 || info.value_size < sizeof(ms_range_state))
        return std::nullopt;
    std::vector<std::byte> entry(info.value_size);
    if (bpf_map_lookup_elem(mappings_map, &process, entry.data()) != 0) return std::nullopt;
    ms_range_state state;
    std::memcpy(&state, entry.data(), sizeof state);
    return state.lost;
}

}  // namespace

struct ProcessTree::State {
    explicit State(BpfObject<tree_bpf> loaded) : object(std::move(loaded)) {}

    BpfObject<tree_bpf> object;
    EventRing<TreeEvent> tree{[](auto record) { return decode_tree_event(record, page_bytes()); }};
    EventRing<DeathEvidence> deaths{[](auto record) { return decode_death(record, page_bytes()); }};
    EventRing<RangeEvent> ranges{decode_range_event, sizeof(ms_range)};  // open only if ranges are followed
};

ProcessTree::ProcessTree(std::unique_ptr<State> state) : state_(std::move(state)) {}
ProcessTree::~ProcessTree() = default;

Result<std::unique_ptr<ProcessTree>> ProcessTree::start(const Plan& plan, const FeatureSettings& settings) {
    const auto programs = programs_of(plan, kName);
    auto object =
        BpfObject<tree_bpf>::load(kName, {tree_bpf__create_skeleton, tree_plain_bpf__elf_bytes}, settings, programs);
    if (!object) return object.error();
    auto state = std::make_unique<State>(std::move(*object));
    const auto& maps = state->object->maps;
    if (auto opened = state->tree.open(bpf_map__fd(maps.tree_events), "open the ring buffer of process events");
        !opened)
        return opened.error();
    if (auto opened = state->deaths.open(bpf_map__fd(maps.deaths), "open the ring buffer of deaths"); !opened)
        return opened.error();
    if (settings.follow_ranges)
        if (auto opened = state->ranges.open(bpf_map__fd(maps.ranges), "open the ring buffer of mapped ranges");
            !opened)
            return opened.error();
    if (auto attached = state->object.attach(programs); !attached) return attached.error();
    return std::unique_ptr<ProcessTree>(new ProcessTree(std::move(state)));
}

Status ProcessTree::watch(CgroupId target) {
    const __u32 watched = 1;
    if (bpf_map_update_elem(targets_map(), &target, &watched, BPF_ANY) != 0)
        return system_error(errno, "add a target to the BPF map of watched cgroups");
    return Done{};
}

void ProcessTree::unwatch(CgroupId target) { bpf_map_delete_elem(targets_map(), &target); }

Status ProcessTree::follow(pid_t process, CgroupId tree) {
    if (bpf_map_update_elem(members_map(), &process, &tree, BPF_ANY) != 0)
        return system_error(errno, "add a process to the BPF map of followed processes");
    return Done{};
}

void ProcessTree::unfollow(pid_t process) { bpf_map_delete_elem(members_map(), &process); }

std::optional<std::uint64_t> ProcessTree::lost_ranges(pid_t process) const {
    return read_lost_ranges(bpf_map__fd(state_->object->maps.mappings), process);
}

int ProcessTree::members_map() const { return bpf_map__fd(state_->object->maps.members); }
int ProcessTree::targets_map() const { return bpf_map__fd(state_->object->maps.targets); }

SharedMaps ProcessTree::shared_maps() const {
    return maps_of(state_->object.object(), {"targets", "members", "mappings", "ranges", "death_evidence", "deaths",
                                             "cuda_failures", "host_failures", "tree_events"});
}

std::vector<int> ProcessTree::event_fds() const {
    std::vector<int> fds{state_->tree.fd(), state_->deaths.fd()};
    if (state_->ranges.is_open()) fds.push_back(state_->ranges.fd());
    return fds;
}

void ProcessTree::drain(const KernelEvents& events) {
    if (events.tree) state_->tree.drain(events.tree);
    if (events.death) state_->deaths.drain(events.death);
    if (events.range) state_->ranges.drain(events.range);
}

Losses ProcessTree::losses() const {
    Losses losses = state_->object.losses();
    losses["malformed_record"] = state_->tree.malformed() + state_->deaths.malformed() + state_->ranges.malformed();
    return losses;
}

Bytes ProcessTree::map_memory() const { return state_->object.map_memory(); }

}  // namespace memscope
