#include "analysis/growth/owner.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <string_view>
#include <utility>

#include "analysis/heap/free_growth.h"
#include "analysis/heap/holder_sentence.h"

namespace memscope {
namespace {

constexpr std::int64_t kLittle = 1 << 20;  // bytes
constexpr double kLittlePart = 0.02;       // of what the target holds
constexpr double kLargePart = 0.2;         // share of what grew; a line with less is not named
// Factor; sites may be sampled, and mapped memory may be touched in part.
constexpr double kTolerance = 1.1;

std::string file_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Growth of a plane: its sites and its unattributed growth, without imports.
std::int64_t net_growth(const GrowthPlane& plane) {
    std::int64_t sum = 0;
    for (const GrowthSite& site : plane.sites)
        if (!is_import(site.python)) sum = add_bytes(sum, site.bytes);
    for (const UnattributedGrowth& part : plane.unattributed) sum = add_bytes(sum, part.bytes);
    return std::max<std::int64_t>(sum, 0);
}

// Bytes that processes have freed of the memory that they had when watching began.
std::int64_t freed_from_before(const GrowthPlane& plane) {
    std::int64_t sum = 0;
    for (const UnattributedGrowth& part : plane.unattributed)
        if (part.bytes < 0) sum = add_bytes(sum, -part.bytes);
    return sum;
}

std::int64_t signed_bytes(Bytes bytes) {
    return static_cast<std::int64_t>(std::min<std::uint64_t>(bytes.n, INT64_MAX));
}

// Bytes that the processes of a line hold now: an upper limit of the bytes that the line can keep. None if one of the
// processes is gone.
std::optional<std::int64_t> held_by(const std::vector<pid_t>& pids, const TargetSnapshot& target) {
    std::int64_t sum = 0;
    for (const pid_t pid : pids) {
        const auto found =
            std::ranges::find_if(target.processes, [&](const Process& each) { return each.task.id.pid == pid; });
        if (found == target.processes.end() || !found->task.memory) return std::nullopt;
        const auto& memory = *found->task.memory;
        for (const Bytes part : {memory.anon, memory.swap, memory.shmem}) sum = add_bytes(sum, signed_bytes(part));
    }
    return sum;
}

std::int64_t little_of(const TargetSnapshot& target) {
    std::int64_t held = 0;
    for (const Process& process : target.processes)
        if (const auto& memory = process.task.memory)
            for (const Bytes part : {memory->anon, memory->swap}) held = add_bytes(held, signed_bytes(part));
    return std::max(kLittle, static_cast<std::int64_t>(kLittlePart * static_cast<double>(held)));
}

struct Candidate {
    PlaneKind plane{};
    OwnLine line{};
};

// The lines of a plane that knows owners. Memory that was mapped and never touched counts against no limit, so a line
// that has mapped more than its processes hold is left out.
void add_candidates(const Growth& growth, PlaneKind plane, const TargetSnapshot& target,
                    std::vector<Candidate>& candidates) {
    std::vector<GrowthSite> sites;
    for (const GrowthSite& site : growth.plane(plane).sites) {
        const bool exact =
            plane == PlaneKind::tensors_host || (!site.native.empty() && maps_for_owner(site.native.front().symbol));
        if (exact && !is_import(site.python)) sites.push_back(site);
    }
    for (OwnLine& line : own_lines(std::move(sites))) {
        if (line.site.bytes < kLittle) break;  // sorted, largest first
        const auto held = held_by(line.site.pids, target);
        if (held && static_cast<double>(line.site.bytes) > kTolerance * static_cast<double>(*held)) continue;
        candidates.push_back({plane, std::move(line)});
    }
}

// Blocks and arenas of Python's allocator in these processes. Python maps its arenas one by one, so the mapped plane
// attributes them to the line that needed the next one.
std::int64_t python_arenas(const std::vector<pid_t>& pids, const TargetSnapshot& target, double now) {
    std::int64_t sum = 0;
    for (const ProcessHeap& heap : target.heap) {
        const HeapCensus& census = heap.census;
        if (!std::ranges::binary_search(pids, census.process.pid) || Seconds{now - census.time} > kFreshCensus)
            continue;
        for (const HeapPart part : {HeapPart::python_live, HeapPart::python_free})
            sum = add_bytes(sum, signed_bytes(census.part(part)));
    }
    return sum;
}

// Memory that the last censuses have found inside allocators which hand out memory again, and all anonymous memory of
// the same processes.
struct Recycled {
    double inside = 0;
    double all = 0;
};

// None without a recent census.
std::optional<Recycled> recycled_memory(const TargetSnapshot& target, double now) {
    double inside = 0;
    double all = 0;
    for (const ProcessHeap& heap : target.heap) {
        const HeapCensus& census = heap.census;
        if (Seconds{now - census.time} > kFreshCensus || !is_complete_enough(census)) continue;
        all += static_cast<double>(census.anon.n);
        for (const HeapPart part :
             {HeapPart::malloc_live, HeapPart::malloc_free, HeapPart::python_live, HeapPart::python_free})
            inside += static_cast<double>(census.part(part).n);
        // The memory of an allocator that is not known in detail is in the part `mapped`.
        if (census.allocator.name != AllocatorName::glibc)
            inside += static_cast<double>(census.part(HeapPart::mapped).n);
    }
    return all > 0 ? std::optional(Recycled{inside, all}) : std::nullopt;
}

}  // namespace

std::string_view enlarged_by(std::string_view innermost_function) {
    constexpr std::string_view kBreak[] = {"brk", "__brk", "sbrk", "__sbrk"};
    constexpr std::string_view kProtect[] = {"mprotect", "__mprotect"};
    if (std::ranges::find(kBreak, innermost_function) != std::end(kBreak))
        return "malloc's main heap, which is recycled: this line need not be the owner";
    if (std::ranges::find(kProtect, innermost_function) != std::end(kProtect))
        return "malloc's heap of a thread, which is recycled, or the stack of a thread";
    return {};
}

bool maps_for_owner(std::string_view innermost_function) {
    return !innermost_function.empty() && enlarged_by(innermost_function).empty();
}

namespace {

// False if the call of mmap() is known to come from a library, for example one that maps shared memory: then the
// mappings are no arenas of Python's allocator.
bool may_be_arenas(const GrowthSite& site) {
    if (site.native.size() < 2 || site.native[1].module.empty()) return true;
    const std::string caller = file_of(site.native[1].module);
    return caller.starts_with("python") || caller.starts_with("libpython");
}

}  // namespace

std::string place_of_line(const GrowthSite& site) {
    if (std::string place = own_place(site.python); !place.empty()) return place;
    if (site.native.empty()) return {};
    const NativeFrame& frame = site.native.front();
    return frame.symbol.empty() ? file_of(frame.module) : frame.symbol;
}

namespace {

// True if the largest process is a free-threaded build of Python. It allocates with mimalloc, which hands out memory
// again and maps it in large pieces, so a line that mapped or touched memory need not keep it.
bool is_free_threaded(const TargetSnapshot& target) {
    const auto largest = std::ranges::max_element(
        target.heap, [](const ProcessHeap& a, const ProcessHeap& b) { return a.census.anon < b.census.anon; });
    return largest != target.heap.end() && largest->held && largest->held->refusal == ObjectsRefusal::free_threaded;
}

}  // namespace

Ownership owner_of(const Growth& growth, const TargetSnapshot& target, double now) {
    Ownership result{.holders = holder_sentence(heap_that_grows(target, now)), .little = little_of(target)};
    const bool free_threaded = is_free_threaded(target);
    if (free_threaded) result.holders = refusal_sentence(ObjectsRefusal::free_threaded);
    std::vector<Candidate> candidates;
    add_candidates(growth, PlaneKind::tensors_host, target, candidates);
    if (!free_threaded) add_candidates(growth, PlaneKind::mapped, target, candidates);
    // A storage of a tensor can be a mapping of its own, so the lists overlap and are not added.
    for (Candidate& each : candidates)
        if (each.plane == PlaneKind::mapped && may_be_arenas(each.line.site)) {
            const std::int64_t arenas = python_arenas(each.line.site.pids, target, now);
            each.line.site.bytes = std::max<std::int64_t>(each.line.site.bytes - arenas, 0);
        }
    const auto most = std::ranges::max_element(
        candidates, [](const Candidate& a, const Candidate& b) { return a.line.site.bytes < b.line.site.bytes; });
    const std::int64_t resident = net_growth(growth.resident);
    const bool any = most != candidates.end() && most->line.site.bytes >= result.little;
    result.grown = std::max(resident, any ? most->line.site.bytes : 0);
    if (result.grown < result.little) {
        result.reason = growth.resident_method == ResidentMethod::none ? Ownership::Reason::not_measured
                                                                       : Ownership::Reason::little;
        return result;
    }
    const double share = any ? static_cast<double>(most->line.site.bytes) / static_cast<double>(result.grown) : 0;
    std::string place = any ? place_of_line(most->line.site) : std::string();
    if (share >= kLargePart && !place.empty()) {
        result.reason = Ownership::Reason::known;
        result.owner = GrowthOwner{.plane = most->plane,
                                   .role = most->line.site.role,
                                   .place = std::move(place),
                                   .bytes = most->line.site.bytes,
                                   .share = std::min(share, 1.0)};
        if (const PythonFrame* own = own_frame(most->line.site.python)) result.frame = *own;
        return result;
    }
    if (growth.resident_method == ResidentMethod::none) {
        result.reason = Ownership::Reason::not_measured;
        return result;
    }
    if (growth.resident_method == ResidentMethod::first_touch) {
        result.reason = Ownership::Reason::first_touch;
        return result;
    }
    if (free_threaded) {
        result.reason = Ownership::Reason::recycled;
        return result;
    }
    // All memory inside allocators is an upper limit of the growth inside them. If that is less than half of what grew,
    // the line that touched a page first also uses it now.
    const auto recycled = recycled_memory(target, now);
    if (!recycled || recycled->inside > 0.5 * static_cast<double>(result.grown)) {
        const bool mostly = recycled && recycled->inside > 0.5 * recycled->all;
        result.reason = mostly ? Ownership::Reason::recycled : Ownership::Reason::no_line;
        return result;
    }
    std::vector<GrowthSite> sites;
    for (const GrowthSite& site : growth.resident.sites)
        if (!is_import(site.python)) sites.push_back(site);
    const std::vector<OwnLine> lines = own_lines(std::move(sites));
    result.reason = Ownership::Reason::no_line;
    if (lines.empty()) return result;
    const GrowthSite& first = lines.front().site;
    const auto held = held_by(first.pids, target);
    const double part = static_cast<double>(first.bytes) / static_cast<double>(result.grown);
    // The processes of the line have gained at least this much. They may have freed memory from before, too.
    const std::int64_t gained = first.bytes - freed_from_before(growth.resident);
    const bool fits =
        held && static_cast<double>(first.bytes) <= kTolerance * static_cast<double>(std::min(*held, gained));
    place = place_of_line(first);
    if (part < kLargePart || part > kTolerance || !fits || place.empty()) return result;
    result.reason = Ownership::Reason::known;
    result.owner = GrowthOwner{.plane = PlaneKind::resident,
                               .role = first.role,
                               .place = std::move(place),
                               .bytes = first.bytes,
                               .share = std::min(part, 1.0)};
    if (const PythonFrame* own = own_frame(first.python)) result.frame = *own;
    return result;
}

}  // namespace memscope
