#include "sources/heap/python/container_lengths.h"

#include <algorithm>
#include <array>

#include "sources/heap/python/object_data.h"
#include "sources/proc/procfs.h"

namespace memscope {
namespace {

using namespace object_offsets;

constexpr std::size_t kHeadWords = 6;  // of the object: up to the last word that one of the kinds needs
using Head = std::array<std::uint64_t, kHeadWords>;
constexpr Seconds kTime{2};

bool is_sound(const ContainerPlace& place) {
    return place.address >= ObjectData::kLowest && place.address % 8 == 0 && place.slot % 8 == 0 &&
           place.kind <= ContainerKind::deque;
}

std::uint64_t at(const Head& head, std::uint64_t offset) { return head[offset / 8]; }

// A freed object has 0 there, or a link of a free list. From 3.12 on the count has 32 bits.
bool is_alive(const Head& head) {
    constexpr std::uint64_t kMostReferences = std::uint64_t{1} << 40;
    const std::uint64_t count = head.front();
    const bool small = count < kMostReferences;
    const bool flagged = (count >> 48U) <= 0xFF && (count & 0xFFFFFFFFU) != 0 && (count >> 32U & 0xFFFFU) == 0;
    return count != 0 && (small || flagged);
}

ContainerReading reading_of(const ContainerPlace& place, const Head& head, const std::uint64_t* referrer) {
    using State = ContainerReading::State;
    const bool is_set = place.kind == ContainerKind::set;
    ContainerReading reading{.length = at(head, is_set ? kSetUsed : kSize),
                             .items = at(head, is_set                              ? kSetTable
                                               : place.kind == ContainerKind::dict ? kDictKeys
                                                                                   : kListItems)};
    const bool torn_list = place.kind == ContainerKind::list && reading.length > at(head, kListRoom);
    if (at(head, kType) != place.type || !is_alive(head) || reading.length > kMostItems) {
        reading.state = State::gone;
    } else if (torn_list) {  // list.append() raises the length after the room
        reading.state = State::unread;
    } else {
        const bool referred = referrer != nullptr && (*referrer & ~std::uint64_t{7}) == place.address;
        const bool same_items = reading.items == place.items && reading.items != 0;
        reading.state = referred || same_items ? State::same : State::unsure;
    }
    return reading;
}

}  // namespace

std::vector<ContainerReading> read_container_lengths(MemorySource& source, std::span<const ContainerPlace> places,
                                                     const ReadDeadline& deadline) {
    constexpr std::size_t kBatch = 512;
    std::vector<ContainerReading> readings(places.size());
    std::vector<Head> heads(std::min(places.size(), kBatch));
    std::vector<std::uint64_t> referrers(heads.size());
    std::vector<MemorySource::Piece> pieces;
    struct Pieces {
        std::size_t head = 0, referrer = 0;
        bool sound = false;
    };
    std::vector<Pieces> of(heads.size());
    for (std::size_t from = 0; from < places.size() && !deadline.has_passed(); from += kBatch) {
        const std::size_t count = std::min(kBatch, places.size() - from);
        pieces.clear();
        for (std::size_t i = 0; i < count; ++i) {
            const ContainerPlace& place = places[from + i];
            of[i] = {.head = pieces.size(), .referrer = pieces.size(), .sound = is_sound(place)};
            if (!of[i].sound) continue;
            pieces.push_back({place.address, std::as_writable_bytes(std::span(heads[i]))});
            if (place.slot == 0) continue;
            of[i].referrer = pieces.size();
            pieces.push_back({place.slot, std::as_writable_bytes(std::span(&referrers[i], 1))});
        }
        source.read(pieces);
        for (std::size_t i = 0; i < count; ++i) {
            ContainerReading& reading = readings[from + i];
            if (!of[i].sound)
                reading.state = ContainerReading::State::gone;
            else if (pieces[of[i].head].done)
                reading =
                    reading_of(places[from + i], heads[i],
                               of[i].referrer != of[i].head && pieces[of[i].referrer].done ? &referrers[i] : nullptr);
        }
    }
    return readings;
}

Result<std::vector<ContainerReading>> read_container_lengths(const SysRoot& root, const ProcessId& id,
                                                             std::span<const ContainerPlace> places) {
    const auto process = open_process(root, id);
    if (!process) return process.error();
    Pace pace;
    auto source = ProcessSource::open(*process, id.pid, pace);
    if (!source) return source.error();
    return read_container_lengths(*source, places, ReadDeadline(kTime));
}

}  // namespace memscope
