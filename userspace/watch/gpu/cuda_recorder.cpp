#include "watch/gpu/cuda_recorder.h"

#include <algorithm>
#include <climits>
#include <utility>

#include "analysis/gpu/gpu_join.h"

namespace memscope {
namespace {

constexpr std::size_t kMostAllocationsSweptPerTick = 16384;

std::int64_t number(Bytes bytes) { return static_cast<std::int64_t>(bytes.n); }

}  // namespace

CudaRecorder::CudaRecorder(std::shared_ptr<ReadHelpers> reads, bool on)
    : libraries_({.name = "copies of the CUDA driver",
                  .kind = LibraryKind::cuda,
                  .probe = CudaCalls::kName,
                  .loss = "cuda_library_refused",
                  .file_name = std::string(kCudaFileName),
                  .probes = [](Session& session, const LibraryAnswer& library) -> Result<ProbeRequest> {
                      const auto calls = session.start_feature<CudaCalls>();
                      if (!calls) return calls.error();
                      return (*calls)->probes(library.file, library.cuda);
                  },
                  .reports_from_start = true},
                 std::move(reads), on) {}

void CudaRecorder::check_libraries(Session& session, std::uint64_t now_ns) {
    libraries_.check_libraries(session, now_ns);
    mark_followed(session);
}

// Marks the processes whose CUDA calls were all seen. For the other processes the BPF programs cannot know whether a
// context that ends is the last one of the process.
void CudaRecorder::mark_followed(Session& session) {
    const auto processes = libraries_.take_followed_from_start();
    const auto lost = libraries_.take_interrupted();
    CudaCalls* calls = session.find<CudaCalls>();
    if (!calls) return;
    for (const ProcessId& process : processes) calls->seen_from_start(process);
    for (const ProcessId& process : lost) calls->clear_seen_from_start(process);
}

void CudaRecorder::tick(Session& session, const Surroundings& around) {
    libraries_.tick(session, around.processes, around.now_ns);
    mark_followed(session);
    if (CudaCalls* calls = session.find<CudaCalls>()) {
        read_accounts(*calls, around);
        live_entries_ = calls->live_entries();
        sweep(*calls);
    }
}

// Adds the increase of the account's failure counter to the role that the process has now.
void CudaRecorder::count_failures(const Known& known, const TrackedProcess& process, WatchedTargets& targets) {
    const std::uint64_t before = std::exchange(counted_failures_[key_of(known.account)], known.account.failures);
    if (known.account.failures <= before) return;
    for (TargetState* target : targets.around(process.last_target()))
        target->cuda_failures.add(process.role, known.device, known.account.failures - before);
}

void CudaRecorder::read_accounts(CudaCalls& calls, const Surroundings& around) {
    const ProcessTable& processes = around.processes;
    const auto process_of = [&](const ProcessId& id) -> const TrackedProcess* {
        if (const auto found = processes.living().find(id.pid);
            found != processes.living().end() && found->second.task.id == id)
            return &found->second;
        for (const TrackedProcess& process : processes.ended())
            if (process.task.id == id) return &process;
        return nullptr;
    };
    auto sites = calls.sites();  // read first: the BPF program makes an account before its sites
    std::map<AccountKey, Known> living;
    std::set<ProcessInstance> unknown;
    for (CudaAccount& account : calls.accounts()) {
        const TrackedProcess* process = process_of(account.process.id);
        const Known known{.account = account, .device = device_of(account, around.devices)};
        if (process) count_failures(known, *process, around.targets);
        if (account.living && process) living.emplace(key_of(account), known);
        if (account.living && !process) unknown.insert(account.process);
        if (account.living) continue;
        counted_failures_.erase(key_of(account));
        calls.forget(account);
    }
    // A new process is in the process table at the next tick at the latest. A process that is missing there twice has
    // left all targets.
    for (const ProcessInstance& process : unknown) {
        if (!unknown_.contains(process)) continue;
        calls.forget(process);
        std::erase_if(counted_failures_, [&](const auto& each) {
            return std::get<0>(each.first) == process.id.pid && std::get<1>(each.first) == process.instance;
        });
    }
    unknown_ = std::move(unknown);
    std::erase_if(sites, [&](const CudaSite& site) {
        const auto account = living.find({site.process.id.pid, site.process.instance, site.device});
        const bool holds = account != living.end() && account->second.account.generation == site.generation;
        if (!holds && !is_unknown(site.process)) calls.forget(site);
        return !holds || site.bytes == 0;
    });
    const std::lock_guard lock(mutex_);
    accounts_ = std::move(living);
    sites_ = std::move(sites);
}

// Removes allocations of ended processes and contexts. No account contains them any more, but they still take room in
// the BPF map.
void CudaRecorder::sweep(CudaCalls& calls) {
    std::uint64_t counted = 0;
    for (const auto& [key, known] : accounts_) counted += known.account.allocations;
    if (live_entries_ <= counted) return;
    calls.sweep(kMostAllocationsSweptPerTick);
}

bool CudaRecorder::is_unknown(const ProcessInstance& process) const {
    return std::ranges::any_of(unknown_, [&](const ProcessInstance& each) {
        return each.instance == process.instance && each.id.pid == process.id.pid;
    });
}

std::optional<GpuId> CudaRecorder::device(const ProcessId& process, int ordinal) const {
    for (auto each = accounts_.lower_bound({process.pid, 0, INT_MIN});
         each != accounts_.end() && std::get<0>(each->first) == process.pid; ++each)
        if (each->second.account.process.id == process && each->second.account.device == ordinal)
            return each->second.device;
    return std::nullopt;
}

void CudaRecorder::describe(const std::vector<Process>& processes, std::optional<TargetGpu>& gpu) const {
    if (accounts_.empty()) return;
    for (const Process& process : processes) {
        const RoleKey role{process.role, process.rank};
        for (auto each = accounts_.lower_bound({process.task.id.pid, 0, INT_MIN});
             each != accounts_.end() && std::get<0>(each->first) == process.task.id.pid; ++each) {
            const auto& [account, device] = each->second;
            if (account.process.id != process.task.id) continue;
            const GpuUse use{.used = {}, .reserved = account.reserved, .tensors = {}};
            const bool reserves = use.reserved_total().n > 0;
            const bool pins = account.pinned.total().n > 0;
            if (!reserves && !pins) continue;  // the process has only read properties of the device
            if (!gpu) gpu.emplace();
            ProcessGpu& its = gpu->processes[process.task.id.pid];
            if (pins) {
                its.pinned += account.pinned;
                gpu->pinned[role] += account.pinned;
            }
            if (!reserves) continue;
            its.devices[device] += use;
            gpu->roles[{role, device}] += use;
        }
    }
}

CudaRecorder::HeldPlanes CudaRecorder::held(const std::vector<Process>& processes) const {
    HeldPlanes held;
    std::map<pid_t, ProcessId> wanted;
    for (const Process& process : processes) wanted[process.task.id.pid] = process.task.id;
    const std::lock_guard lock(mutex_);
    for (const auto& [key, known] : accounts_) {
        const auto process = wanted.find(std::get<0>(key));
        if (process == wanted.end() || process->second != known.account.process.id) continue;
        for (const Bytes bytes : known.account.reserved) held.gpu.elsewhere += number(bytes);
        held.pinned.elsewhere += number(known.account.pinned.total());
        held.gpu.lost += number(known.account.lost);
    }
    for (const CudaSite& site : sites_) {
        const auto account = accounts_.find({site.process.id.pid, site.process.instance, site.device});
        const auto process = wanted.find(site.process.id.pid);
        if (account == accounts_.end() || process == wanted.end()) continue;
        if (process->second != account->second.account.process.id) continue;
        Held& plane = std::holds_alternative<CudaApi>(site.kind) ? held.gpu : held.pinned;
        plane.stacks.push_back({process->second, site.stack, site.bytes});
        plane.elsewhere -= site.bytes;
    }
    return held;
}

std::set<StackId> CudaRecorder::stacks() const {
    std::set<StackId> stacks;
    const std::lock_guard lock(mutex_);
    for (const CudaSite& site : sites_) stacks.insert(site.stack);
    return stacks;
}

}  // namespace memscope
