#include "kernel/features/gpu_tensors.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <optional>
#include <string>

#include "gpu_tensors.skel.h"
#include "gpu_tensors_plain.skel.h"
#include "kernel/bpf/bpf_object.h"
#include "kernel/bpf/map_entries.h"

namespace memscope {
namespace {

constexpr const char* kSite = "torch_site";

std::string bytes_of(const ms_gpu_tensor_site& site) {
    std::string bytes(sizeof(site), '\0');
    std::memcpy(bytes.data(), &site, sizeof(site));
    return bytes;
}

}  // namespace

struct GpuTensors::State {
    BpfObject<gpu_tensors_bpf> object;
    bool many_at_once = false;
    std::map<std::string, std::uint32_t> numbers{};  // numbers of sites, by the bytes of the site
    MapSweep sweep{};

    int map(const bpf_map* map) const { return bpf_map__fd(map); }
};

GpuTensors::GpuTensors(std::unique_ptr<State> state) : state_(std::move(state)) {}
GpuTensors::~GpuTensors() = default;

Result<std::unique_ptr<GpuTensors>> GpuTensors::start(const Plan& plan, const FeatureSettings& settings) {
    if (program_of(plan, kName, "probes").empty())
        return plain_error("this kernel offers no hook for the probes of PyTorch");
    const auto programs = programs_of(plan, kName);
    auto object = BpfObject<gpu_tensors_bpf>::load(
        kName, {gpu_tensors_bpf__create_skeleton, gpu_tensors_plain_bpf__elf_bytes}, settings, programs,
        [&](gpu_tensors_bpf& skeleton) {
            if (settings.gpu_tensors > 0) bpf_map__set_max_entries(skeleton.maps.gpu_tensors, settings.gpu_tensors);
            if (settings.many_user_probes) prepare_for_many(skeleton.progs.torch_site);
        });
    if (!object) return object.error();
    auto ends = programs;
    std::erase(ends, kSite);
    if (auto attached = object->attach(ends); !attached) return attached.error();
    return std::unique_ptr<GpuTensors>(new GpuTensors(
        std::make_unique<State>(State{.object = std::move(*object), .many_at_once = settings.many_user_probes})));
}

// Equal sites share an entry. Entries are never changed, because a probe that is being detached still uses its number.
Result<std::uint32_t> GpuTensors::number_of(const ms_gpu_tensor_site& site) {
    const std::string bytes = bytes_of(site);
    if (const auto known = state_->numbers.find(bytes); known != state_->numbers.end()) return known->second;
    const auto number = static_cast<std::uint32_t>(state_->numbers.size());
    if (number >= MS_GPU_TENSOR_SITES) return plain_error("more builds of PyTorch are in use than memscope can follow");
    if (bpf_map_update_elem(state_->map(state_->object->maps.gpu_tensor_sites), &number, &site, BPF_ANY) != 0)
        return system_error(errno, "add a PyTorch probe to the BPF map of probe sites");
    state_->numbers.emplace(bytes, number);
    return number;
}

Result<ProbeRequest> GpuTensors::probes(const Fd& library, std::span<const GpuTensorPlace> places) {
    ProbeRequest request{.purpose = "follow the probes of PyTorch", .many_at_once = state_->many_at_once};
    request.library = Fd(::fcntl(library.get(), F_DUPFD_CLOEXEC, 0));
    if (!request.library) return system_error(errno, request.purpose);
    std::vector<ProbePoint> points;
    for (const GpuTensorPlace& place : places) {
        const auto number = number_of(place.site);
        if (!number) return number.error();
        points.push_back({.offset = place.offset, .semaphore = place.semaphore, .cookie = *number});
    }
    auto group = probe_group(state_->object->progs.torch_site, ProbeAt::call, std::move(points));
    if (!group) return group.error();
    request.groups.push_back(std::move(*group));
    return request;
}

std::vector<GpuTensorAccount> GpuTensors::accounts() const {
    std::vector<GpuTensorAccount> accounts;
    const auto add = [&](__u32 pid, const ms_gpu_tensor_process& process) {
        GpuTensorAccount account{.process = {{static_cast<pid_t>(pid), process.start_ns}, process.id},
                                 .tensors = not_below_zero(process.tensors),
                                 .missed_some = process.missed > 0};
        for (int device = 0; device < MS_GPU_TENSOR_SLOTS; ++device)
            if (process.used[device] != 0)
                account.devices.push_back({.number = device == MS_GPU_TENSOR_NO_DEVICE ? -1 : device,
                                           .bytes = Bytes{not_below_zero(process.bytes[device])}});
        accounts.push_back(std::move(account));
    };
    for_each_entry<__u32, ms_gpu_tensor_process>(state_->map(state_->object->maps.gpu_tensor_processes),
                                                 std::size_t{2} * MS_GPU_TENSOR_PROCESSES, add);
    return accounts;
}

void GpuTensors::forget(const ProcessInstance& process) {
    const int map = state_->map(state_->object->maps.gpu_tensor_processes);
    ms_gpu_tensor_process known{};
    if (bpf_map_lookup_elem(map, &process.id.pid, &known) == 0 && known.id == process.instance)
        bpf_map_delete_elem(map, &process.id.pid);
}

// A process is added before its first tensor. So if the process is missing after the tensor was read, it has been
// deleted.
void GpuTensors::sweep(std::size_t most) {
    const int processes = state_->map(state_->object->maps.gpu_tensor_processes);
    std::map<std::pair<__u64, __u32>, bool> living;
    const auto is_gone = [&](const ms_gpu_tensor_key& key, const ms_gpu_tensor&) {
        const auto [known, fresh] = living.try_emplace({key.process, key.pid});
        ms_gpu_tensor_process process{};
        if (fresh) known->second = bpf_map_lookup_elem(processes, &key.pid, &process) == 0 && process.id == key.process;
        return !known->second;
    };
    const int tensors = state_->map(state_->object->maps.gpu_tensors);
    const __s64 swept = state_->sweep.next<ms_gpu_tensor_key, ms_gpu_tensor>(tensors, most, is_gone);
    __atomic_fetch_sub(&state_->object->bss->gpu_tensor_entries, swept, __ATOMIC_RELAXED);
}

std::uint64_t GpuTensors::entries() const {
    return not_below_zero(__atomic_load_n(&state_->object->bss->gpu_tensor_entries, __ATOMIC_RELAXED));
}

Losses GpuTensors::losses() const { return state_->object.losses(); }
Bytes GpuTensors::map_memory() const { return state_->object.map_memory(); }

}  // namespace memscope
