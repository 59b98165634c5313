#include "kernel/features/cuda_calls.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "cuda.skel.h"
#include "cuda_plain.skel.h"
#include "kernel/bpf/bpf_object.h"
#include "kernel/bpf/event_ring.h"
#include "kernel/bpf/map_entries.h"

namespace memscope {
namespace {

constexpr const char* kPrograms[] = {
#define X(name, program) "gpu_" #program,
    MS_CUDA_CALLS(X)
#undef X
};

ProcessInstance process_of(__u32 pid, __u64 start_ns, __u64 instance) {
    return {{static_cast<pid_t>(pid), start_ns}, instance};
}

}  // namespace

struct CudaCalls::State {
    BpfObject<cuda_bpf> object;
    std::string_view return_program;
    Ring refusals{};
    std::size_t refused = 0;       // since the last drain()
    std::size_t most_at_once = 1;  // maximum number of events per drain()
    bool many_at_once = false;
    MapSweep sweep{};

    int map(const bpf_map* map) const { return bpf_map__fd(map); }
};

CudaCalls::CudaCalls(std::unique_ptr<State> state) : state_(std::move(state)) {}
CudaCalls::~CudaCalls() = default;

Result<std::unique_ptr<CudaCalls>> CudaCalls::start(const Plan& plan, const FeatureSettings& settings) {
    const auto return_program = program_of(plan, kName, "calls");
    if (return_program.empty()) return plain_error("this kernel offers no hook for calls of the CUDA driver");
    const auto planned = programs_of(plan, kName);
    auto programs = planned;
    programs.insert(programs.end(), std::begin(kPrograms), std::end(kPrograms));
    auto object = BpfObject<cuda_bpf>::load(
        kName, {cuda_bpf__create_skeleton, cuda_plain_bpf__elf_bytes}, settings, programs, [&](cuda_bpf& skeleton) {
            if (settings.cuda_live > 0) bpf_map__set_max_entries(skeleton.maps.cuda_live, settings.cuda_live);
            if (!settings.many_user_probes) return;
            const auto prepare = [&](std::string_view name) {
                prepare_for_many(bpf_object__find_program_by_name(skeleton.obj, std::string(name).c_str()));
            };
            prepare(return_program);
            for (const char* program : kPrograms) prepare(program);
        });
    if (!object) return object.error();
    auto ends = planned;  // the programs that run at exits and execs
    std::erase(ends, return_program);
    if (auto attached = object->attach(ends); !attached) return attached.error();
    auto state = std::make_unique<State>(State{
        .object = std::move(*object), .return_program = return_program, .many_at_once = settings.many_user_probes});
    const auto count = [](void* self, void*, std::size_t) {
        auto& its = *static_cast<State*>(self);
        return ++its.refused == its.most_at_once ? -ECANCELED : 0;
    };
    state->refusals.reset(ring_buffer__new(state->map(state->object->maps.cuda_refusals), count, state.get(), nullptr));
    if (!state->refusals) return system_error(errno, "open the ring buffer of refused CUDA allocations");
    state->most_at_once = most_events(state->map(state->object->maps.cuda_refusals), sizeof(__u32));
    return std::unique_ptr<CudaCalls>(new CudaCalls(std::move(state)));
}

// Return probes are attached first, because a return without its entry does no harm, but an entry without its return
// would occupy an entry of `cuda_calls`.
Result<ProbeRequest> CudaCalls::probes(const Fd& library, std::span<const CudaPlace> places) const {
    ProbeRequest request{.purpose = "follow calls of the CUDA driver", .many_at_once = state_->many_at_once};
    request.library = Fd(::fcntl(library.get(), F_DUPFD_CLOEXEC, 0));
    if (!request.library) return system_error(errno, request.purpose);
    std::vector<ProbePoint> returns;
    std::map<ms_cuda_call, std::vector<ProbePoint>> calls;
    for (const CudaPlace& place : places) {
        returns.push_back({.offset = place.offset});
        calls[place.call].push_back({.offset = place.offset});
    }
    const auto add = [&](std::string_view program, ProbeAt at, std::vector<ProbePoint> points) -> Status {
        auto group = probe_group(state_->object.program(program), at, std::move(points));
        if (!group) return group.error();
        request.groups.push_back(std::move(*group));
        return Done{};
    };
    if (auto added = add(state_->return_program, ProbeAt::return_, std::move(returns)); !added) return added.error();
    for (auto& [call, points] : calls)
        if (auto added = add(kPrograms[call], ProbeAt::call, std::move(points)); !added) return added.error();
    return request;
}

std::vector<CudaAccount> CudaCalls::accounts() const {
    std::vector<CudaAccount> accounts;
    const int processes = state_->map(state_->object->maps.cuda_processes);
    const auto add = [&](const ms_cuda_account_key& key, const ms_cuda_account& value) {
        CudaAccount account{.process = process_of(key.pid, value.start_ns, key.process),
                            .device = key.device,
                            .generation = value.generation,
                            .allocations = not_below_zero(value.live),
                            .failures = value.failures,
                            .lost = Bytes{value.lost_bytes}};
        for (std::size_t i = 0; i < account.reserved.size(); ++i)
            account.reserved[i] = Bytes{not_below_zero(value.bytes[i])};
        for (std::size_t i = 0; i < account.pinned.by_kind.size(); ++i)
            account.pinned.by_kind[i] = Bytes{not_below_zero(value.bytes[MS_CUDA_DEVICE_KINDS + i])};
        if (value.has_uuid != 0)
            std::copy(std::begin(value.uuid), std::end(value.uuid), account.uuid.emplace().begin());
        ms_cuda_process process{};
        account.living = bpf_map_lookup_elem(processes, &key.pid, &process) == 0 && process.id == key.process;
        accounts.push_back(account);
    };
    for_each_entry<ms_cuda_account_key, ms_cuda_account>(state_->map(state_->object->maps.cuda_accounts),
                                                         std::size_t{2} * MS_CUDA_ACCOUNTS, add);
    return accounts;
}

std::vector<CudaSite> CudaCalls::sites() const {
    std::vector<CudaSite> sites;
    for_each_entry<ms_cuda_site_key, __s64>(
        state_->map(state_->object->maps.cuda_sites), std::size_t{2} * MS_CUDA_SITES,
        [&](const ms_cuda_site_key& key, __s64 bytes) {
            if (key.kind >= MS_CUDA_KIND_COUNT) return;
            CudaSite site{.process = process_of(key.pid, 0, key.process),
                          .device = key.device,
                          .generation = key.generation,
                          .stack = StackId{key.stack},
                          .bytes = bytes};
            if (key.kind < MS_CUDA_DEVICE_KINDS)
                site.kind = static_cast<CudaApi>(key.kind);
            else
                site.kind = static_cast<PinnedKind>(key.kind - MS_CUDA_DEVICE_KINDS);
            sites.push_back(site);
        });
    return sites;
}

void CudaCalls::forget(const ProcessInstance& process) {
    const int map = state_->map(state_->object->maps.cuda_processes);
    ms_cuda_process known{};
    if (bpf_map_lookup_elem(map, &process.id.pid, &known) != 0 || known.id != process.instance) return;
    // Calls that the process makes until it is watched again are not seen.
    bpf_map_delete_elem(state_->map(state_->object->maps.cuda_seen_from_start), &process.id.pid);
    bpf_map_delete_elem(map, &process.id.pid);
}

void CudaCalls::seen_from_start(const ProcessId& process) {
    const auto pid = static_cast<__u32>(process.pid);
    const __u64 start_ns = process.start_ns;
    bpf_map_update_elem(state_->map(state_->object->maps.cuda_seen_from_start), &pid, &start_ns, BPF_ANY);
}

void CudaCalls::clear_seen_from_start(const ProcessId& process) {
    const auto pid = static_cast<__u32>(process.pid);
    bpf_map_delete_elem(state_->map(state_->object->maps.cuda_seen_from_start), &pid);
}

std::vector<int> CudaCalls::event_fds() const { return {ring_buffer__epoll_fd(state_->refusals.get())}; }

void CudaCalls::drain(const KernelEvents& events) {
    if (!events.cuda_refused) return;
    ring_buffer__consume(state_->refusals.get());
    if (std::exchange(state_->refused, 0) > 0) events.cuda_refused();
}

void CudaCalls::forget(const CudaAccount& account) {
    const ms_cuda_account_key key{.process = account.process.instance,
                                  .pid = static_cast<__u32>(account.process.id.pid),
                                  .device = account.device};
    bpf_map_delete_elem(state_->map(state_->object->maps.cuda_accounts), &key);
}

void CudaCalls::forget(const CudaSite& site) {
    const auto* api = std::get_if<CudaApi>(&site.kind);
    const auto kind =
        api ? static_cast<__u32>(*api) : MS_CUDA_DEVICE_KINDS + static_cast<__u32>(std::get<PinnedKind>(site.kind));
    const ms_cuda_site_key key{.process = site.process.instance,
                               .stack = static_cast<__u64>(site.stack),
                               .generation = site.generation,
                               .pid = static_cast<__u32>(site.process.id.pid),
                               .device = site.device,
                               .kind = kind,
                               .pad = 0};
    bpf_map_delete_elem(state_->map(state_->object->maps.cuda_sites), &key);
}

// An account is created before its first allocation. So if the account is missing after the allocation was read, the
// account has been deleted.
void CudaCalls::sweep(std::size_t most) {
    const int accounts = state_->map(state_->object->maps.cuda_accounts);
    std::map<std::tuple<__u64, __u32, __s32>, std::optional<__u64>> generations;
    const auto is_gone = [&](const ms_cuda_live_key& key, const ms_cuda_live& live) {
        const auto [known, fresh] = generations.try_emplace({key.process, key.pid, live.device});
        const ms_cuda_account_key account_key{.process = key.process, .pid = key.pid, .device = live.device};
        ms_cuda_account account{};
        if (fresh && bpf_map_lookup_elem(accounts, &account_key, &account) == 0) known->second = account.generation;
        return known->second != live.generation;
    };
    const int allocations = state_->map(state_->object->maps.cuda_live);
    const __s64 swept = state_->sweep.next<ms_cuda_live_key, ms_cuda_live>(allocations, most, is_gone);
    __atomic_fetch_sub(&state_->object->bss->cuda_live_entries, swept, __ATOMIC_RELAXED);
}

std::uint64_t CudaCalls::live_entries() const {
    return not_below_zero(__atomic_load_n(&state_->object->bss->cuda_live_entries, __ATOMIC_RELAXED));
}

Losses CudaCalls::losses() const { return state_->object.losses(); }
Bytes CudaCalls::map_memory() const { return state_->object.map_memory(); }

}  // namespace memscope
