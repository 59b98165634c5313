#include "kernel/features/mapping_calls.h"

#include "memory.skel.h"
#include "memory_plain.skel.h"

namespace memscope {

struct MappingCalls::State {
    std::unique_ptr<memory_bpf, Release<memory_bpf__destroy>> skeleton;
    std::vector<std::string_view> programs;
    std::vector<Link> links;
    SharedMaps shared;
};

MappingCalls::MappingCalls(std::unique_ptr<State> state) : state_(std::move(state)) {}
MappingCalls::MappingCalls(MappingCalls&&) noexcept = default;
MappingCalls& MappingCalls::operator=(MappingCalls&&) noexcept = default;
MappingCalls::~MappingCalls() = default;

Result<MappingCalls> MappingCalls::start(const Plan& plan, const FeatureSettings& settings) {
    auto programs = programs_of(plan, "memory");
    if (!settings.follow_ranges) std::erase(programs, program_of(plan, "memory", "sys_enter"));
    if (programs.empty()) return plain_error("this kernel offers nothing for the signal 'memory'");
    auto state = std::make_unique<State>();
    state->skeleton.reset(
        open_object(settings, memory_bpf__create_skeleton, memory_bpf__destroy, memory_plain_bpf__elf_bytes));
    if (!state->skeleton) return load_error("memory", errno);
    apply_settings(*state->skeleton, settings);
    if (!share_maps(state->skeleton->obj, settings.shared)) return load_error("memory", errno);
    load_only(state->skeleton->obj, programs);
    if (const int error = memory_bpf__load(state->skeleton.get())) return load_error("memory", -error);
    state->programs = programs;
    state->shared = settings.shared;
    MappingCalls signal(std::move(state));
    if (auto attached = signal.attach(); !attached) return attached.error();
    return signal;
}

Status MappingCalls::attach() {
    auto links = memscope::attach(state_->skeleton->obj, state_->programs);
    if (!links) return links.error();
    state_->links = std::move(*links);
    return Done{};
}

void MappingCalls::detach() { state_->links.clear(); }

Losses MappingCalls::losses() const { return read_losses(state_->skeleton->bss->losses); }
Bytes MappingCalls::map_memory() const { return map_bytes(state_->skeleton->obj, state_->shared); }

}  // namespace memscope
