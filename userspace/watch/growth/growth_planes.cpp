#include "watch/growth/growth_planes.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "analysis/growth/owner.h"
#include "watch/clock.h"
#include "watch/growth/site_names.h"

namespace memscope {
namespace {

// Roles of the processes that live in a target.
class Roles {
  public:
    explicit Roles(const std::vector<Process>& processes) {
        for (const Process& process : processes) roles_[process.task.id] = {process.role, process.rank};
    }
    const RoleKey* of(const ProcessId& process) const {
        const auto found = roles_.find(process);
        return found == roles_.end() ? nullptr : &found->second;
    }

  private:
    std::map<ProcessId, RoleKey> roles_;
};

void add_unattributed(SitePlane& plane, const char* reason, std::int64_t bytes) {
    if (bytes != 0) plane.unattributed.push_back({reason, bytes});
}

// The largest sites. A report shows fewer than this.
std::vector<SiteGrowth> largest(std::vector<SiteGrowth> sites) {
    constexpr std::size_t kMostSites = 256;
    std::ranges::stable_sort(sites, std::ranges::greater{}, &SiteGrowth::bytes);
    if (sites.size() > kMostSites) sites.resize(kMostSites);
    return sites;
}

}  // namespace

Bytes held_by(const AddressSpace& memory) { return memory.anon + memory.swap; }

std::vector<SiteGrowth> kept_part(std::vector<SiteGrowth> sites) {
    for (SiteGrowth& each : sites) each.bytes = each.kept();
    std::erase_if(sites, [](const SiteGrowth& each) { return each.bytes <= 0; });
    return sites;
}

std::vector<SiteGrowth> GrowthPlanes::named(const std::vector<HeldAtStack>& held, const RoleKey& role) const {
    std::vector<SiteGrowth> list;
    for (const HeldAtStack& at : held)
        if (const CallSitePtr* site = ledger_.sites.site_of(at.stack)) list.push_back(growth_at(*site, at, role));
    return list;
}

void GrowthPlanes::keep_last(const TrackedProcess& process, Seconds now) {
    const ProcessId& id = process.task.id;
    const auto tensors = from_.host_tensors.end(id);
    const auto space = ledger_.spaces.find(id.pid);
    from_.resident.settle(id);
    const auto resident = from_.resident.held(id);
    std::int64_t unknown = 0;
    for (const HeldAtStack& at : resident)
        if (!ledger_.sites.site_of(at.stack)) unknown += at.bytes;
    ledger_.ended.keep(id, {.at = now,
                            .resident = largest(named(resident)),
                            .mapped = largest(named(from_.mapped.held(id))),
                            .tensors_host = largest(named(tensors)),
                            .unknown_resident = unknown,
                            .start_bytes = space == ledger_.spaces.end() ? 0 : space->second.start_bytes,
                            .checked_ns = from_.resident.checked_ns(id)});
}

// Sites and unattributed growth add up to the growth of the processes: what they hold now minus what they held when
// they were first seen.
SitePlane GrowthPlanes::resident_plane(const TargetSnapshot& target) {
    if (from_.stacks.method() == ResidentMethod::none) return {};
    std::vector<HeldAtStack> stacks;
    std::int64_t unknown = 0;  // of processes that have ended
    std::int64_t without_sample = 0;
    std::int64_t before = 0;
    bool paused = false;
    {
        const std::lock_guard lock(ledger_.mutex);
        paused = ledger_.was_paused;
        for (const Process& process : target.processes) {
            const ProcessId& id = process.task.id;
            const EndedGrowth* ended = ledger_.ended.find(id);
            const auto space = ledger_.spaces.find(id.pid);
            std::int64_t rest = process.task.memory ? static_cast<std::int64_t>(held_by(*process.task.memory).n) : 0;
            if (ended) {
                rest -= ended->start_bytes + ended->unknown_resident;
                unknown += ended->unknown_resident;
                for (const SiteGrowth& each : ended->resident) rest -= each.bytes;
            } else if (space != ledger_.spaces.end() && space->second.process == id) {
                rest -= space->second.start_bytes;
                for (const HeldAtStack& at : from_.resident.held(id)) {
                    rest -= at.bytes;
                    stacks.push_back(at);
                }
            } else {
                continue;
            }
            if (process.task.memory) (rest > 0 ? without_sample : before) += rest;
        }
    }
    SitePlane plane = held_plane(target, stacks, &EndedGrowth::resident);
    add_unattributed(plane, "unknown_stack", unknown);
    add_unattributed(plane, paused ? "paused" : "no_address", without_sample);
    add_unattributed(plane, "before", before);
    return plane;
}

std::optional<Seconds> GrowthPlanes::pages_checked(const TargetSnapshot& target) {
    std::optional<std::uint64_t> oldest;
    const std::lock_guard lock(ledger_.mutex);
    for (const Process& process : target.processes) {
        const ProcessId& id = process.task.id;
        const EndedGrowth* ended = ledger_.ended.find(id);
        if (ended ? ended->resident.empty() : from_.resident.held(id).empty()) continue;
        const auto checked = ended ? ended->checked_ns : from_.resident.checked_ns(id);
        if (!checked) return std::nullopt;
        oldest = std::min(oldest.value_or(*checked), *checked);
    }
    if (!oldest) return std::nullopt;
    const auto now = static_cast<std::uint64_t>(read_clock().boot_ns);
    return Seconds(std::chrono::nanoseconds(now - std::min(now, *oldest)));
}

// The memory that processes hold, by the stack that allocated or mapped it. A death report asks for the processes of a
// tick before the death, so processes that have ended since are added.
SitePlane GrowthPlanes::held_plane(const TargetSnapshot& target, const std::vector<HeldAtStack>& stacks,
                                   std::vector<SiteGrowth> EndedGrowth::* ended) {
    const Roles roles(target.processes);
    SitePlane plane;
    std::int64_t other = 0;
    std::int64_t unknown = 0;
    std::int64_t pending = 0;
    {
        const std::lock_guard lock(ledger_.mutex);
        for (const HeldAtStack& at : stacks) {
            if (const CallSitePtr* site = ledger_.sites.site_of(at.stack)) {
                plane.sites.push_back(growth_at(*site, at, *roles.of(at.process)));
            } else if (at.stack == kNoStack) {
                other += at.bytes;
            } else if (ledger_.sites.expects_names(at.stack)) {
                pending += at.bytes;
                plane.unnamed.push_back({at, *roles.of(at.process)});
            } else {
                unknown += at.bytes;
            }
        }
        if (ended) {
            for (const auto& [process, last] : ledger_.ended.all()) {
                const RoleKey* role = roles.of(process);
                if (!role) continue;
                for (const SiteGrowth& each : last.*ended) {
                    plane.sites.push_back(each);
                    plane.sites.back().role = *role;
                }
            }
        }
    }
    add_unattributed(plane, "other", other);
    add_unattributed(plane, "unknown_stack", unknown);
    add_unattributed(plane, "pending", pending);
    return plane;
}

SitePlane GrowthPlanes::gpu_plane(const TargetSnapshot& target, const CudaRecorder::Held& held) {
    SitePlane plane = held_plane(target, held.stacks, nullptr);
    add_unattributed(plane, "other", held.elsewhere);
    add_unattributed(plane, "no_room", held.lost);
    return plane;
}

SitePlane GrowthPlanes::mapped_plane(const TargetSnapshot& target, const MappedRecorder::Held& held) {
    SitePlane plane = held_plane(target, held.stacks, &EndedGrowth::mapped);
    add_unattributed(plane, "lost", held.unknown);
    add_unattributed(plane, "too_many_ranges", held.left_out);
    return plane;
}

SitePlane GrowthPlanes::tensors_plane(const TargetSnapshot& target, const HostTensorRecorder::Held& held) {
    SitePlane plane = held_plane(target, held.stacks, &EndedGrowth::tensors_host);
    add_unattributed(plane, "other", held.elsewhere);
    add_unattributed(plane, "no_room", held.lost);
    // Added even with 0 bytes, because the list is incomplete during a pause.
    if (held.recording.paused_at_rate) plane.unattributed.push_back({"paused", held.before_pause});
    return plane;
}

void GrowthPlanes::name_mappings(HeapCensus& census) {
    std::vector<AddressRange> ranges;
    ranges.reserve(census.mappings.size());
    for (const HeapMapping& mapping : census.mappings) ranges.push_back({mapping.start, mapping.end});
    const std::vector<StackId> stacks = from_.mapped.mapped_by(census.process, ranges);
    const std::lock_guard lock(ledger_.mutex);
    for (std::size_t i = 0; i < stacks.size(); ++i)
        if (const CallSitePtr* site = ledger_.sites.site_of(stacks[i])) census.mappings[i].mapped_at = place_of(**site);
}

std::vector<LineGrowth> GrowthPlanes::lines(const std::vector<Process>& processes, NativeSymbols& symbols) {
    std::vector<SiteGrowth> touched;
    {
        const std::lock_guard lock(ledger_.mutex);
        for (const Process& process : processes)
            std::ranges::move(named(from_.resident.held(process.task.id), {process.role, process.rank}),
                              std::back_inserter(touched));
    }
    return by_line(touched, kept_at_sites(processes, symbols));
}

// The memory that is kept, by the planes that know the owner of memory.
KeptSites GrowthPlanes::kept_at_sites(const std::vector<Process>& processes, NativeSymbols& symbols) {
    TargetSnapshot target;
    target.processes = processes;
    const SitePlanes all = of(target);
    SiteNames names(symbols, NativeReads::Wait::no);
    std::vector<SiteGrowth> mapped = all.plane(PlaneKind::mapped).sites;
    std::stable_sort(mapped.begin(), mapped.end(),
                     [](const SiteGrowth& a, const SiteGrowth& b) { return a.bytes > b.bytes; });
    if (mapped.size() > SiteNames::kMostNamed) mapped.resize(SiteNames::kMostNamed);
    std::erase_if(mapped, [&](const SiteGrowth& each) {
        return each.site->native.empty() || !maps_for_owner(names.named(each.site->native.front()).symbol);
    });
    return {.mapped = kept_part(std::move(mapped)), .tensors = kept_part(all.plane(PlaneKind::tensors_host).sites)};
}

SitePlanes GrowthPlanes::of(const TargetSnapshot& target) {
    const MappedRecorder::Held held = from_.mapped.held(target.processes);
    const CudaRecorder::HeldPlanes cuda = from_.cuda.held(target.processes);
    const HostTensorRecorder::Held tensors = from_.host_tensors.held(target.processes);
    SitePlanes all{.file_mapped_bytes = held.file, .reserved_bytes = held.reserved, .host_tensors = tensors.recording};
    all.plane(PlaneKind::resident) = resident_plane(target);
    all.plane(PlaneKind::mapped) = mapped_plane(target, held);
    all.plane(PlaneKind::tensors_host) = tensors_plane(target, tensors);
    all.plane(PlaneKind::gpu) = gpu_plane(target, cuda.gpu);
    all.plane(PlaneKind::pinned) = gpu_plane(target, cuda.pinned);
    return all;
}

}  // namespace memscope
