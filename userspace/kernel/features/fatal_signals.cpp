#include "kernel/features/fatal_signals.h"

#include "deaths.skel.h"
#include "deaths_plain.skel.h"
#include "kernel/bpf/bpf_object.h"

namespace memscope {

struct FatalSignals::State {
    BpfObject<deaths_bpf> object;
};

FatalSignals::FatalSignals(std::unique_ptr<State> state) : state_(std::move(state)) {}
FatalSignals::~FatalSignals() = default;

Result<std::unique_ptr<FatalSignals>> FatalSignals::start(const Plan& plan, const FeatureSettings& settings) {
    const auto programs = programs_of(plan, kName);
    auto object = BpfObject<deaths_bpf>::load(kName, {deaths_bpf__create_skeleton, deaths_plain_bpf__elf_bytes},
                                              settings, programs);
    if (!object) return object.error();
    if (auto attached = object->attach(programs); !attached) return attached.error();
    return std::unique_ptr<FatalSignals>(new FatalSignals(std::make_unique<State>(State{std::move(*object)})));
}

Losses FatalSignals::losses() const { return state_->object.losses(); }
Bytes FatalSignals::map_memory() const { return state_->object.map_memory(); }

}  // namespace memscope
