#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/units.h"
#include "model/heap/container_places.h"
#include "model/heap/heap_objects.h"
#include "model/processes/process.h"

namespace memscope {

// The parts of the resident anonymous memory of a process. They are disjoint. Metrics and JSON export their names.
enum class HeapPart {
    malloc_live,  // blocks that the program has allocated from malloc, with their headers
    malloc_free,  // freed blocks that malloc keeps
    python_live,  // blocks that Python's own allocator (pymalloc) has handed out
    python_free,  // free blocks and pools of pymalloc
    mapped,       // large private mappings that belong to no known allocator
    stacks,       // of threads
    other,        // data of libraries, and everything else
};
inline constexpr std::size_t kHeapParts = 7;
std::string_view name_of(HeapPart part);

enum class AllocatorName { unknown, glibc, jemalloc, tcmalloc, mimalloc };
std::string_view name_of(AllocatorName name);

// The allocator that serves malloc() in a process. A number that is not known is absent.
struct Allocator {
    AllocatorName name = AllocatorName::unknown;
    std::optional<std::string> version{};
    std::optional<std::uint64_t> arenas{};
    std::optional<Bytes> trimmable{};  // whole resident pages in free blocks: malloc_trim(0) would return them
    auto fields() { return std::tie(name, version, arenas, trimmable); }
};

// Why a census is incomplete. JSON exports the names.
enum class HeapGap { torn, not_present, unknown_type, too_many, time_limit };
std::string_view name_of(HeapGap gap);

// A mapping of the part `mapped`.
struct HeapMapping {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    Bytes resident{};
    std::string mapped_at{};  // the line or the native code that mapped most of it, any bytes; empty: not known
    auto fields() { return std::tie(start, end, resident, mapped_at); }
};

// The content of the heap of one process at one time.
struct HeapCensus {
    ProcessId process{};
    double time = 0;  // seconds since 1970
    Seconds taken{};  // CPU time that the census took
    Bytes anon{};     // RssAnon at that time
    Bytes swap{};
    std::optional<std::string> python{};  // version; none: no interpreter
    std::array<Bytes, kHeapParts> parts{};
    Allocator allocator{};
    std::vector<HeapMapping> mappings{};            // the largest ones, largest first
    std::map<HeapGap, std::uint64_t> incomplete{};  // number of times for each reason; empty: everything was read
    std::shared_ptr<const ObjectCensus>
        objects{};  // shared, because each tick copies it; null: not asked for, no Python
    // Where the lengths of containers are. Shared, as `objects`. Not recorded. Null: as `objects`, or none was found.
    std::shared_ptr<const std::vector<ContainerPlace>> places{};

    Bytes part(HeapPart part) const { return parts[static_cast<std::size_t>(part)]; }
    Bytes& part(HeapPart part) { return parts[static_cast<std::size_t>(part)]; }
    auto fields() {
        return std::tie(process, time, taken, anon, swap, python, parts, allocator, mappings, incomplete, objects,
                        places);
    }
};

// A container that has gained items at several looks and has given none back, with the name that a census has for it.
struct GrowingHolder {
    static constexpr std::size_t kMost = 16;  // of a process

    Holder holder{};  // of the latest census that has it
    GrowingContainer gain{};
    double host_per_item = 0;  // bytes
    double device_per_item = 0;
};

// The latest census of a process of a target.
struct ProcessHeap {
    RoleKey role{};  // at this tick
    HeapCensus census{};
    std::optional<HeapCensus> earlier{};  // the census before it; none: there was none
    std::optional<HeldObjects> held{};    // by its latest census of Python objects; none: no such census
    // The latest census that has objects, to compare the next census with. Not recorded. Null: there is none.
    std::shared_ptr<const HeapCensus> with_objects{};
    // The containers that gain most bytes, most first. Not recorded. Null: none is known.
    std::shared_ptr<const std::vector<GrowingHolder>> growing{};
};

// A census with all its objects, as recordings keep it. In other records a census has no objects.
struct WholeCensus {
    RoleKey role{};
    HeapCensus census{};                    // its pointer to the objects is not recorded
    std::optional<ObjectCensus> objects{};  // none: it has no objects
};

// True for two processes of one role and rank whose sizes differ by 20 % at most. A census of one of them then
// describes the other, too: DataLoader workers of one loader do the same work.
bool are_alike(const RoleKey& role, Bytes anon, const RoleKey& other_role, Bytes other_anon);

// The largest process of the role that has a census. Null if there is none.
const ProcessHeap* largest_heap(const std::vector<ProcessHeap>& heap, const RoleKey& role);

}  // namespace memscope
