#include "sources/heap/python/container_rereads.h"

#include <array>
#include <optional>
#include <span>
#include <vector>

namespace memscope {
namespace {

using namespace object_offsets;

constexpr std::uint64_t kMostRevived = 4096;
constexpr std::uint64_t kRevivedBytes = 112;                  // enough for an array
constexpr std::uint64_t kMostAhead = std::uint64_t{8} << 20;  // bytes of items that are read before they are used
constexpr std::uint64_t kOwnPages = 16 << 10;                 // bytes of items that share few pages with others
constexpr int kRereadTries = 3;

// Where the address of the items is.
std::optional<std::uint64_t> items_offset(ObjectKind kind) {
    switch (kind) {
        case ObjectKind::list:
            return kListItems;
        case ObjectKind::dict:
            return kDictKeys;
        case ObjectKind::set:
            return kSetTable;
        default:
            return std::nullopt;
    }
}

}  // namespace

Address ContainerRereads::settle(Address object, const PythonType& type) {
    const auto offset = items_offset(type.kind);
    if (!offset) return 0;
    HeapCopy& memory = reader_.memory();
    // From the type to the last word that describes the buffer.
    std::array<std::uint64_t, (kDictValues - kType) / 8 + 1> copied{}, now{};
    const std::size_t words = ((type.kind == ObjectKind::list ? kListRoom : kDictValues) - kType) / 8 + 1;
    const auto bytes_of = [&](auto& head) { return std::as_writable_bytes(std::span(head).first(words)); };
    for (int i = 0; i < kRereadTries; ++i) {
        const Address items = memory.word(object + *offset);
        if (items < ObjectData::kLowest || pools_.contains(items) || items == object + kSetSmallTable) return 0;
        const HeapRange buffer = reader_.buffer_of(object, type);
        if (buffer.size() > kMostAhead && i > 0) return items;
        // The copy of a page can be older than the head: something else was there. With the head, they agree.
        if (buffer.size() >= kOwnPages && buffer.size() <= kMostAhead) {
            memory.forget(buffer);
            std::vector<Address> pages;
            for (Address at = buffer.start; at < buffer.end; at += HeapCopy::kPage) pages.push_back(at);
            memory.prefetch(pages);
        }
        memory.read(object + kType, bytes_of(copied));
        if (!memory.read_past(object + kType, bytes_of(now)) || now == copied) return items;
        if (now.front() != copied.front()) return items;  // the object has been freed, and another one has its memory
        const bool has_same_items = now[(*offset - kType) / 8] == items;
        memory.correct(object + kType, bytes_of(now));
        if (i > 0 && has_same_items) return items;  // it has only got more items
        const Address first = memory.word(object + *offset);
        memory.forget({first, first + 1});  // the head of the keys of a dict, from which buffer_of() knows their size
        memory.forget(reader_.buffer_of(object, type));
    }
    return memory.word(object + *offset);
}

bool ContainerRereads::has_moved(Address object, const PythonType& type, Address items) {
    const auto offset = items_offset(type.kind);
    std::uint64_t now = 0;
    return offset && items != 0 &&
           reader_.memory().read_past(object + *offset, std::as_writable_bytes(std::span(&now, 1))) && now != items;
}

bool ContainerRereads::revive(Address object) {
    if (revived_ >= kMostRevived) return false;
    ++revived_;
    const HeapRange bytes{object, object + kRevivedBytes};
    reader_.memory().copy_again({&bytes, 1});
    return reader_.data().is_alive(object);
}

}  // namespace memscope
