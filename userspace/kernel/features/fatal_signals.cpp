#include "kernel/features/fatal_signals.h"

#include "deaths.skel.h"
#include "deaths_plain.skel.h"

namespace memscope {

struct FatalSignals::State {
    std::unique_ptr<deaths_bpf, Release<deaths_bpf__destroy>> skeleton;
    std::vector<Link> links;
    SharedMaps shared;
};

FatalSignals::FatalSignals(std::unique_ptr<State> state) : state_(std::move(state)) {}
FatalSignals::FatalSignals(FatalSignals&&) noexcept = default;
FatalSignals& FatalSignals::operator=(FatalSignals&&) noexcept = default;
FatalSignals::~FatalSignals() = default;

Result<FatalSignals> FatalSignals::start(const Plan& plan, const FeatureSettings& settings) {
    const auto programs = programs_of(plan, "deaths");
    if (programs.empty()) return plain_error("this kernel offers nothing for the signal 'deaths'");
    auto state = std::make_unique<State>();
    state->skeleton.reset(
        open_object(settings, deaths_bpf__create_skeleton, deaths_bpf__destroy, deaths_plain_bpf__elf_bytes));
    if (!state->skeleton) return load_error("deaths", errno);
    apply_settings(*state->skeleton, settings);
    if (!share_maps(state->skeleton->obj, settings.shared)) return load_error("deaths", errno);
    load_only(state->skeleton->obj, programs);
    if (const int error = deaths_bpf__load(state->skeleton.get())) return load_error("deaths", -error);
    auto links = attach(state->skeleton->obj, programs);
    if (!links) return links.error();
    state->links = std::move(*links);
    state->shared = settings.shared;
    return FatalSignals(std::move(state));
}

Losses FatalSignals::losses() const { return read_losses(state_->skeleton->bss->losses); }
Bytes FatalSignals::map_memory() const { return map_bytes(state_->skeleton->obj, state_->shared); }

}  // namespace memscope
