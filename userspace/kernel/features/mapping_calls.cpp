#include "kernel/features/mapping_calls.h"

#include "kernel/bpf/bpf_object.h"
#include "memory.skel.h"
#include "memory_plain.skel.h"

namespace memscope {
namespace {

constexpr std::string_view kRangeHook = "sys_enter";  // records a range before it is unmapped

}  // namespace

struct MappingCalls::State {
    BpfObject<memory_bpf> object;
    std::vector<std::string_view> programs;
    bool follows_ranges = false;
};

MappingCalls::MappingCalls(std::unique_ptr<State> state) : state_(std::move(state)) {}
MappingCalls::~MappingCalls() = default;

Result<std::unique_ptr<MappingCalls>> MappingCalls::start(const Plan& plan, const FeatureSettings& settings) {
    auto programs = programs_of(plan, kName);
    if (!settings.follow_ranges) std::erase(programs, program_of(plan, kName, kRangeHook));
    auto object = BpfObject<memory_bpf>::load(kName, {memory_bpf__create_skeleton, memory_plain_bpf__elf_bytes},
                                              settings, programs);
    if (!object) return object.error();
    std::unique_ptr<MappingCalls> feature(new MappingCalls(
        std::make_unique<State>(State{std::move(*object), std::move(programs), settings.follow_ranges})));
    if (auto attached = feature->resume(); !attached) return attached.error();
    return feature;
}

Status MappingCalls::resume() { return state_->object.attach(state_->programs); }
void MappingCalls::pause() { state_->object.detach(); }
bool MappingCalls::uses(std::string_view hook) const { return hook != kRangeHook || state_->follows_ranges; }
Losses MappingCalls::losses() const { return state_->object.losses(); }
Bytes MappingCalls::map_memory() const { return state_->object.map_memory(); }

}  // namespace memscope
