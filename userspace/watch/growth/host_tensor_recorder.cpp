#include "watch/growth/host_tensor_recorder.h"

#include <algorithm>
#include <utility>

#include "sources/gpu/probed_libraries.h"
#include "sources/proc/procfs.h"

namespace memscope {
namespace {

constexpr std::size_t kMostSweptPerTick = 16384;
constexpr std::uint64_t kRateSpanNs = 5'000'000'000;
constexpr std::uint64_t kShortestSpanNs = 10'000'000;
// Assumed cost of the breakpoint of a user probe: the exception, the search for the probe and the single step over the
// replaced instruction. The BPF programs measure only their own time. Basis: a generic tracing tool needed 5 us for New
// and Delete together on an x86_64 GPU host. The programs took about 2 us of that in a virtual machine, where each
// breakpoint cost 5 to 7 us.
constexpr double kProbeSeconds = 1.5e-6;

LibraryFollower::Kind::Probes probes_for(HostTensors::Calls calls) {
    return [calls](Session& session, const LibraryAnswer& library) -> Result<ProbeRequest> {
        const auto tensors = session.start_feature<HostTensors>();
        if (!tensors) return tensors.error();
        return (*tensors)->probes(library.file, library.host_tensors, calls);
    };
}

}  // namespace

std::vector<std::int64_t> StackTroughs::passing(const HostTensorReading& reading, Seconds now) {
    std::map<HostTensorReading::Calls, std::int64_t> held;
    for (const HostTensorSite& site : reading.sites) held[{site.space, site.calls}] += site.bytes;
    std::map<HostTensorReading::Calls, std::int64_t> left;
    for (const auto& [calls, frees] : reading.calls) {
        Trough& trough = troughs_[calls];
        if (frees) trough.note(now, frees->low, frees->high, frees->fall);
        left[calls] = trough.passing(now, held[calls]);
    }
    const bool too_many = troughs_.size() > kMostTroughs;
    std::erase_if(troughs_, [&](const auto& each) {
        return !reading.calls.contains(each.first) && (too_many || each.second.is_over(now));
    });
    std::vector<std::int64_t> parts;
    parts.reserve(reading.sites.size());
    for (const HostTensorSite& site : reading.sites) {
        const auto found = left.find({site.space, site.calls});
        // The calls of this site are not in the reading, so nothing is known about what the site keeps.
        const std::int64_t part = found == left.end() ? site.bytes : std::min(site.bytes, found->second);
        if (found != left.end()) found->second -= part;
        parts.push_back(part);
    }
    return parts;
}

HostTensorRecorder::HostTensorRecorder(SysRoot root, std::shared_ptr<ReadHelpers> reads, bool on, HookBudget budget)
    : root_(std::move(root)),
      on_(on),
      libraries_({.name = "copies of PyTorch's base library",
                  .kind = LibraryKind::host_tensors,
                  .probe = HostTensors::kName,
                  .loss = "host_tensor_library_refused",
                  .file_name = std::string(kHostTensorFileName),
                  .probes = probes_for(HostTensors::Calls::all),
                  // Failed allocations are followed during a pause, too, because they are rare and explain deaths.
                  .probes_in_pause = probes_for(HostTensors::Calls::failures)},
                 std::move(reads), on),
      budget_(budget) {}

void HostTensorRecorder::check_libraries(Session& session, const Now& now) {
    libraries_.check_libraries(session, now.boot_ns);
    note_start(now);
}

void HostTensorRecorder::begin_new(ProcessTable& processes) {
    if (revision_ == processes.revision()) return;
    revision_ = processes.revision();
    for (auto& [pid, process] : processes.living())
        if (!std::exchange(process.host_tensors_begun, true)) libraries_.begin(process);
}

void HostTensorRecorder::note_start(const Now& now) {
    if (!libraries_.is_following()) return;
    const std::lock_guard lock(mutex_);
    if (!recording_.since_seconds) recording_.since_seconds = now.unix_seconds;
}

void HostTensorRecorder::tick(Session& session, ProcessTable& processes, const Now& now) {
    if (!on_) return;
    begin_new(processes);
    libraries_.tick(session, processes, now.boot_ns);
    HostTensors* tensors = session.find<HostTensors>();
    if (!tensors) return;
    if (std::exchange(losses_, libraries_.losses()) != libraries_.losses()) start_anew(*tensors);
    note_start(now);
    read(*tensors, now);
    keep_to_budget(*tensors, now);
}

std::vector<HostTensorRecorder::Site> HostTensorRecorder::held_at(const HostTensorReading& reading,
                                                                  const std::map<SpaceId, HostTensorAccount>& accounts,
                                                                  Seconds now) {
    const std::vector<std::int64_t> passing = troughs_.passing(reading, now);
    std::vector<Site> held;
    for (std::size_t i = 0; i < reading.sites.size(); ++i) {
        const HostTensorSite& site = reading.sites[i];
        const auto account = accounts.find(site.space);
        if (site.bytes == 0 || account == accounts.end()) continue;
        held.push_back({site.space, {account->second.process, site.stack, site.bytes, passing[i]}});
    }
    return held;
}

void HostTensorRecorder::read(HostTensors& tensors, const Now& now) {
    std::map<SpaceId, HostTensorAccount> accounts;
    counted_ = 0;
    for (const HostTensorAccount& account : tensors.accounts()) {
        counted_ += account.storages;
        accounts.emplace(account.space, account);
    }
    auto sites = held_at(tensors.read(), accounts, Seconds(static_cast<double>(now.boot_ns) * 1e-9));
    entries_ = tensors.entries();
    if (entries_ > counted_) tensors.sweep(kMostSweptPerTick);
    const std::lock_guard lock(mutex_);
    accounts_ = std::move(accounts);
    sites_ = std::move(sites);
}

// Frees were missed, so recorded storages may not exist any more. The recording starts again.
void HostTensorRecorder::start_anew(HostTensors& tensors) {
    tensors.begin_period(!budget_.is_off());
    const std::lock_guard lock(mutex_);
    recording_.since_seconds.reset();
}

void HostTensorRecorder::pause(HostTensors& tensors) {
    libraries_.pause();
    tensors.begin_period(false);
    const std::lock_guard lock(mutex_);
    recording_ = {.since_seconds = {}, .paused_at_rate = rate_};
    before_pause_.clear();
    for (const auto& [space, account] : accounts_) before_pause_[account.process] += account.bytes;
    accounts_.clear();
    sites_.clear();
}

void HostTensorRecorder::measure_rate(const HostTensors::Cost& cost, const Now& now) {
    const std::uint64_t span = now.boot_ns - mark_.boot_ns;
    if (mark_.boot_ns != 0 && span < kShortestSpanNs) return;
    if (mark_.boot_ns != 0)
        rate_ = static_cast<double>(cost.allocated - mark_.allocated) / (static_cast<double>(span) * 1e-9);
    if (mark_.boot_ns == 0 || span >= kRateSpanNs) mark_ = {now.boot_ns, cost.allocated};
}

void HostTensorRecorder::keep_to_budget(HostTensors& tensors, const Now& now) {
    const HostTensors::Cost cost = tensors.cost();
    measure_rate(cost, now);
    const Seconds spent(static_cast<double>(cost.ns) * 1e-9 + static_cast<double>(cost.calls) * kProbeSeconds);
    const auto cpu = [this] {
        std::set<pid_t> pids;
        for (const auto& [space, account] : accounts_) pids.insert(account.process.pid);
        return cpu_time_of(root_, pids);
    };
    switch (budget_.consider(Seconds(static_cast<double>(now.boot_ns) * 1e-9), spent, cpu)) {
        case HookBudget::Advice::detach:
            pause(tensors);
            break;
        case HookBudget::Advice::attach: {
            start_anew(tensors);
            libraries_.resume();
            mark_ = {};
            const std::lock_guard lock(mutex_);
            recording_ = {};
            before_pause_.clear();
            break;
        }
        case HookBudget::Advice::stay:
            break;
    }
}

HostTensorRecorder::Held HostTensorRecorder::held(const std::vector<Process>& processes) const {
    Held held;
    std::set<ProcessId> wanted;
    for (const Process& process : processes) wanted.insert(process.task.id);
    const std::lock_guard lock(mutex_);
    bool any = false;
    for (const auto& [space, account] : accounts_) {
        if (!wanted.contains(account.process)) continue;
        any = true;
        held.elsewhere += account.bytes;
        held.lost += account.lost;
    }
    for (const auto& [process, bytes] : before_pause_) {
        if (!wanted.contains(process)) continue;
        any = true;
        held.before_pause += bytes;
    }
    if (any) held.recording = recording_;
    for (const Site& site : sites_) {
        if (!accounts_.contains(site.space) || !wanted.contains(site.held.process)) continue;
        held.stacks.push_back(site.held);
        held.elsewhere -= site.held.bytes;
    }
    return held;
}

std::vector<HeldAtStack> HostTensorRecorder::end(const ProcessId& process) {
    std::vector<HeldAtStack> stacks;
    const std::lock_guard lock(mutex_);
    std::erase_if(sites_, [&](const Site& site) {
        if (site.held.process != process) return false;
        stacks.push_back(site.held);
        return true;
    });
    std::erase_if(accounts_, [&](const auto& account) { return account.second.process == process; });
    before_pause_.erase(process);
    return stacks;
}

std::set<StackId> HostTensorRecorder::stacks() const {
    std::set<StackId> stacks;
    const std::lock_guard lock(mutex_);
    for (const Site& site : sites_) stacks.insert(site.held.stack);
    return stacks;
}

}  // namespace memscope
