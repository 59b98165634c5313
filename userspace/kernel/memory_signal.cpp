#include "kernel/memory_signal.h"

#include "memory.skel.h"

namespace memscope {

struct MemorySignal::State {
    std::unique_ptr<memory_bpf, Release<memory_bpf__destroy>> skeleton;
    std::vector<Link> links;
};

MemorySignal::MemorySignal(std::unique_ptr<State> state) : state_(std::move(state)) {}
MemorySignal::MemorySignal(MemorySignal&&) noexcept = default;
MemorySignal& MemorySignal::operator=(MemorySignal&&) noexcept = default;
MemorySignal::~MemorySignal() = default;

Result<MemorySignal> MemorySignal::start(const Plan& plan, const SignalSettings& settings) {
    const auto programs = programs_of(plan, "memory");
    if (programs.empty()) return plain_error("this kernel offers nothing for the signal 'memory'");
    auto state = std::make_unique<State>();
    state->skeleton.reset(memory_bpf__open());
    if (!state->skeleton) return load_error("memory", errno);
    apply_settings(*state->skeleton, settings);
    if (!share_maps(*state->skeleton, settings)) return load_error("memory", errno);
    load_only(state->skeleton->obj, programs);
    if (const int error = memory_bpf__load(state->skeleton.get())) return load_error("memory", -error);
    auto links = attach(state->skeleton->obj, programs);
    if (!links) return links.error();
    state->links = std::move(*links);
    return MemorySignal(std::move(state));
}

Losses MemorySignal::losses() const { return read_losses(bpf_map__fd(state_->skeleton->maps.losses)); }
Bytes MemorySignal::map_memory() const { return map_bytes(state_->skeleton->obj); }

}  // namespace memscope
