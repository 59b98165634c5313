#include "watch/gpu_recorder.h"

#include <algorithm>
#include <climits>
#include <utility>

#include "analysis/gpu_device.h"

namespace memscope {
namespace {

constexpr std::size_t kMostLibraries = 16;     // some 110 files are open for each
constexpr std::size_t kMostKnown = 64;         // with those that cannot be followed
constexpr std::size_t kMostLooksPerTurn = 50;  // a process with a driver has thousands of mappings: a millisecond
constexpr std::size_t kMostSweptPerTick = 16384;
constexpr std::uint64_t kLingerNs = 60'000'000'000;

std::int64_t number(Bytes bytes) { return static_cast<std::int64_t>(bytes.n); }

}  // namespace

GpuRecorder::~GpuRecorder() {
    for (auto& [key, library] : libraries_) detacher_.let_go(std::move(library.probes));
}

void GpuRecorder::begin(const TrackedProcess& process) {
    if (!on_) return;
    const ProcessId& id = process.task.id;
    if (!process.born_here) return look_at(id);
    // One that executed another program since will say so when it maps a driver.
    if (libraries_.empty() || process.exec_count > 0) return;
    bool inherits = false;
    for (auto& [key, library] : libraries_)
        if (library.users.contains(process.task.parent)) inherits = library.users.insert(id.pid).second || inherits;
    if (!inherits) look_at(id);  // its parent may have ended, or have mapped one just now
}

void GpuRecorder::executed(const ProcessId& process) {
    for (auto& [key, library] : libraries_) library.users.erase(process.pid);
}

Status GpuRecorder::follow(Session& session, pid_t pid, const MappedRange& mapping, Library& library) {
    std::size_t followed = 0;
    for (const auto& [key, known] : libraries_) followed += known.probes.empty() ? 0 : 1;
    if (followed >= kMostLibraries)
        return plain_error("there are too many copies of the CUDA driver to follow them all");
    const auto file = open_cuda_library(root_, pid, mapping);
    if (!file) return file.error();
    if (auto started = session.start_gpu(); !started) return started.error();
    auto probes = session.gpu()->attach(file->file, file->places);
    if (!probes) return probes.error();
    library.probes = std::move(*probes);
    return Done{};
}

void GpuRecorder::look_at_maps(Session& session, const ProcessId& process) {
    const auto mappings = read_cuda_mappings(root_, process.pid);
    if (!mappings) return;  // it has ended
    for (const MappedRange& mapping : *mappings) {
        const FileKey key{mapping.dev_major, mapping.dev_minor, mapping.inode};
        const bool known = libraries_.contains(key);
        if (!known && libraries_.size() >= kMostKnown) {
            ++refused_;
            continue;
        }
        Library& library = libraries_[key];
        library.users.insert(process.pid);
        if (known) continue;
        if (auto followed = follow(session, process.pid, mapping, library); !followed) {
            ++refused_;
            refusals_.push_back(followed.error());
        }
    }
}

void GpuRecorder::look(Session& session) {
    for (std::size_t looked = 0; !to_look_at_.empty() && looked < kMostLooksPerTurn; ++looked)
        look_at_maps(session, to_look_at_.extract(to_look_at_.begin()).value());
}

// A program maps its driver some time after it was executed: the longer it lives without one, the more rarely it is
// looked at.
void GpuRecorder::look_again(const Surroundings& around) {
    constexpr std::uint64_t kFirst = 1'000'000'000;
    constexpr std::uint64_t kLast = 60 * kFirst;
    const auto& living = around.processes.living();
    std::erase_if(looks_, [&](const auto& entry) {
        const auto found = living.find(entry.first.pid);
        return found == living.end() || found->second.task.id != entry.first;
    });
    for (const auto& [pid, process] : living) {
        if (to_look_at_.size() >= kMostLooksPerTurn) return;
        Look& look = looks_[process.task.id];
        if (around.now_ns < look.next_ns) continue;
        look.wait_ns = std::clamp(2 * look.wait_ns, kFirst, kLast);
        look.next_ns = around.now_ns + look.wait_ns;
        look_at(process.task.id);
    }
}

// A job that is started again soon finds its driver followed: to attach takes a moment, to let go seconds.
void GpuRecorder::leave_unused(const Surroundings& around) {
    for (const TrackedProcess& process : around.processes.ended())
        for (auto& [key, library] : libraries_) library.users.erase(process.task.id.pid);
    const auto is_unused = [&](const Library& library) {
        return library.users.empty() && (library.probes.empty() || around.now_ns - library.used_ns >= kLingerNs);
    };
    for (auto& [key, library] : libraries_) {
        if (!library.users.empty()) library.used_ns = around.now_ns;
        if (is_unused(library)) detacher_.let_go(std::move(library.probes));
    }
    std::erase_if(libraries_, [&](const auto& entry) { return is_unused(entry.second); });
}

void GpuRecorder::tick(Session& session, const Surroundings& around) {
    if (on_ && !session.tells_of_cuda()) look_again(around);
    look(session);
    leave_unused(around);
    if (GpuSignal* signal = session.gpu()) {
        read_accounts(*signal, around);
        live_entries_ = signal->live_entries();
        sweep(*signal);
    }
}

// A counter lives on across processes: what is new of it is booked to the role that the process has now.
void GpuRecorder::count_failures(const Known& known, const TrackedProcess& process, const Nesting& nesting) {
    const std::uint64_t before = std::exchange(counted_failures_[key_of(known.account)], known.account.failures);
    if (known.account.failures <= before) return;
    for (const CgroupId target : nesting.around(process.last_target()))
        failures_[target][{process.role, known.device}] += known.account.failures - before;
}

void GpuRecorder::read_accounts(GpuSignal& signal, const Surroundings& around) {
    const ProcessTable& processes = around.processes;
    const auto process_of = [&](const ProcessId& id) -> const TrackedProcess* {
        if (const auto found = processes.living().find(id.pid);
            found != processes.living().end() && found->second.task.id == id)
            return &found->second;
        for (const TrackedProcess& process : processes.ended())
            if (process.task.id == id) return &process;
        return nullptr;
    };
    auto sites = signal.sites();  // before the accounts: each is younger than its account
    std::map<AccountKey, Known> living;
    std::set<CudaProcess> strangers;
    for (GpuAccount& account : signal.accounts()) {
        const TrackedProcess* process = process_of(account.process.id);
        const Known known{.account = account, .device = device_of(account, around.devices)};
        if (process) count_failures(known, *process, around.nesting);
        if (account.living && process) living.emplace(key_of(account), known);
        if (account.living && !process) strangers.insert(account.process);
        if (account.living) continue;
        counted_failures_.erase(key_of(account));
        signal.forget(account);
    }
    // One that was born a moment ago is known by the next tick; one that was moved out never will be.
    for (const CudaProcess& stranger : strangers)
        if (strangers_.contains(stranger)) signal.forget(stranger);
    strangers_ = std::move(strangers);
    std::erase_if(sites, [&](const GpuSite& site) {
        const auto account = living.find({site.process.id.pid, site.process.instance, site.device});
        const bool holds = account != living.end() && account->second.account.generation == site.generation;
        if (!holds && !is_stranger(site.process)) signal.forget(site);
        return !holds || site.bytes == 0;
    });
    const std::lock_guard lock(mutex_);
    accounts_ = std::move(living);
    sites_ = std::move(sites);
}

// What is left of processes and contexts that are gone is in no sum, but takes up room.
void GpuRecorder::sweep(GpuSignal& signal) {
    std::uint64_t counted = 0;
    for (const auto& [key, known] : accounts_) counted += known.account.allocations;
    if (live_entries_ <= counted) return;
    signal.sweep(kMostSweptPerTick);
}

bool GpuRecorder::is_stranger(const CudaProcess& process) const {
    return std::ranges::any_of(strangers_, [&](const CudaProcess& stranger) {
        return stranger.instance == process.instance && stranger.id.pid == process.id.pid;
    });
}

bool GpuRecorder::has_any() const {
    return std::ranges::any_of(libraries_, [](const auto& entry) { return !entry.second.users.empty(); });
}

bool GpuRecorder::is_following() const {
    return std::ranges::any_of(
        libraries_, [](const auto& entry) { return !entry.second.users.empty() && !entry.second.probes.empty(); });
}

std::optional<Bytes> GpuRecorder::reserved(const ProcessId& process, const GpuId& device) const {
    std::optional<Bytes> sum;
    for (auto each = accounts_.lower_bound({process.pid, 0, INT_MIN});
         each != accounts_.end() && std::get<0>(each->first) == process.pid; ++each) {
        if (each->second.account.process.id != process || each->second.device != device) continue;
        for (const Bytes bytes : each->second.account.reserved) sum = sum.value_or(Bytes{}) + bytes;
    }
    return sum;
}

void GpuRecorder::describe(CgroupId target, TargetSnapshot& out) const {
    const auto failures = failures_.find(target);
    if (failures != failures_.end()) {
        if (!out.gpu) out.gpu.emplace();
        out.gpu->failures = failures->second;
    }
    if (accounts_.empty()) return;
    for (const Process& process : out.processes) {
        const RoleKey role{process.role, process.rank};
        for (auto each = accounts_.lower_bound({process.task.id.pid, 0, INT_MIN});
             each != accounts_.end() && std::get<0>(each->first) == process.task.id.pid; ++each) {
            const auto& [account, device] = each->second;
            if (account.process.id != process.task.id) continue;
            const GpuUse use{.used = {}, .reserved = account.reserved, .tensors = {}};
            const bool reserves = use.reserved_total().n > 0;
            const bool pins = account.pinned.total().n > 0;
            if (!reserves && !pins) continue;  // a device that it has only asked about
            if (!out.gpu) out.gpu.emplace();
            ProcessGpu& its = out.gpu->processes[process.task.id.pid];
            if (pins) {
                its.pinned += account.pinned;
                out.gpu->pinned[role] += account.pinned;
            }
            if (!reserves) continue;
            its.devices[device] += use;
            out.gpu->roles[{role, device}] += use;
        }
    }
}

GpuRecorder::HeldPlanes GpuRecorder::held(const std::vector<Process>& processes) const {
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
    for (const GpuSite& site : sites_) {
        const auto account = accounts_.find({site.process.id.pid, site.process.instance, site.device});
        const auto process = wanted.find(site.process.id.pid);
        if (account == accounts_.end() || process == wanted.end()) continue;
        if (process->second != account->second.account.process.id) continue;
        Held& plane = std::holds_alternative<GpuApi>(site.kind) ? held.gpu : held.pinned;
        plane.stacks.push_back({process->second, site.stack, site.bytes});
        plane.elsewhere -= site.bytes;
    }
    return held;
}

std::set<StackId> GpuRecorder::stacks() const {
    std::set<StackId> stacks;
    const std::lock_guard lock(mutex_);
    for (const GpuSite& site : sites_) stacks.insert(site.stack);
    return stacks;
}

}  // namespace memscope
