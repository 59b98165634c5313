#include "kernel/features/process_tree.h"

#include <span>
#include <unistd.h>

#include "kernel/features/decode.h"
#include "tree.skel.h"
#include "tree_plain.skel.h"

namespace memscope {

struct ProcessTree::State {
    std::unique_ptr<tree_bpf, Release<tree_bpf__destroy>> skeleton;
    std::vector<Link> links;
    Ring ring;
    const std::function<void(const TreeEvent&)>* visit = nullptr;
    std::uint64_t malformed = 0;
    const std::uint64_t page_size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));

    static int receive(void* self, void* data, std::size_t size) {
        auto& state = *static_cast<State*>(self);
        const auto event = decode_tree_event({static_cast<const std::byte*>(data), size}, state.page_size);
        if (!event)
            ++state.malformed;
        else if (state.visit)
            (*state.visit)(*event);
        return 0;
    }
};

ProcessTree::ProcessTree(std::unique_ptr<State> state) : state_(std::move(state)) {}
ProcessTree::ProcessTree(ProcessTree&&) noexcept = default;
ProcessTree& ProcessTree::operator=(ProcessTree&&) noexcept = default;
ProcessTree::~ProcessTree() = default;

Result<ProcessTree> ProcessTree::start(const Plan& plan, const FeatureSettings& settings) {
    auto state = std::make_unique<State>();
    state->skeleton.reset(
        open_object(settings, tree_bpf__create_skeleton, tree_bpf__destroy, tree_plain_bpf__elf_bytes));
    if (!state->skeleton) return load_error("tree", errno);
    apply_settings(*state->skeleton, settings);
    const auto programs = programs_of(plan, "tree");
    load_only(state->skeleton->obj, programs);
    if (const int error = tree_bpf__load(state->skeleton.get())) return load_error("tree", -error);
    state->ring.reset(
        ring_buffer__new(bpf_map__fd(state->skeleton->maps.tree_events), State::receive, state.get(), nullptr));
    if (!state->ring) return load_error("tree", errno);
    auto links = attach(state->skeleton->obj, programs);
    if (!links) return links.error();
    state->links = std::move(*links);
    return ProcessTree(std::move(state));
}

Status ProcessTree::watch(CgroupId target) {
    const __u32 watched = 1;
    if (bpf_map_update_elem(targets_map(), &target, &watched, BPF_ANY) != 0)
        return system_error(errno, "add a target to the map of watched cgroups");
    return Done{};
}

void ProcessTree::unwatch(CgroupId target) { bpf_map_delete_elem(targets_map(), &target); }
Status ProcessTree::follow(pid_t process, CgroupId tree) {
    if (bpf_map_update_elem(members_map(), &process, &tree, BPF_ANY) != 0)
        return system_error(errno, "add a process to the map of followed ones");
    return Done{};
}
void ProcessTree::unfollow(pid_t process) { bpf_map_delete_elem(members_map(), &process); }

int ProcessTree::members_map() const { return bpf_map__fd(state_->skeleton->maps.members); }
int ProcessTree::mappings_map() const { return bpf_map__fd(state_->skeleton->maps.mappings); }
int ProcessTree::targets_map() const { return bpf_map__fd(state_->skeleton->maps.targets); }
SharedMaps ProcessTree::shared_maps() const {
    return maps_of(state_->skeleton->obj,
                   {"targets", "members", "mappings", "ranges", "last_words", "deaths", "gpu_failures", "tree_events"});
}
int ProcessTree::ring_fd() const { return ring_buffer__epoll_fd(state_->ring.get()); }

void ProcessTree::drain(const std::function<void(const TreeEvent&)>& visit) {
    state_->visit = &visit;
    ring_buffer__consume(state_->ring.get());
    state_->visit = nullptr;
}

Losses ProcessTree::losses() const {
    Losses losses = read_losses(state_->skeleton->bss->losses);
    losses["malformed_record"] = state_->malformed;
    return losses;
}

Bytes ProcessTree::map_memory() const { return map_bytes(state_->skeleton->obj); }

}  // namespace memscope
