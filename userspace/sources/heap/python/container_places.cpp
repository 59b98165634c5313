#include "sources/heap/python/container_places.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "sources/heap/python/referrer_words.h"

namespace memscope {
namespace {

using namespace object_offsets;

constexpr std::uint64_t kFewItems = 8;
constexpr std::uint64_t kLargeItems = 64 << 10;  // bytes; a container with few items counts if it retains as much
// Words of the referrers in which slots are searched: 32 MiB. The slots of the largest containers are searched first.
constexpr std::uint64_t kMostWords = std::uint64_t{4} << 20;

std::optional<ContainerKind> kind_of(ObjectKind kind) {
    switch (kind) {
        case ObjectKind::list:
            return ContainerKind::list;
        case ObjectKind::dict:
            return ContainerKind::dict;
        case ObjectKind::set:
            return ContainerKind::set;
        case ObjectKind::deque:
            return ContainerKind::deque;
        default:
            return std::nullopt;
    }
}

std::uint64_t items_offset(ContainerKind kind) {
    switch (kind) {
        case ContainerKind::dict:
            return kDictKeys;
        case ContainerKind::set:
            return kSetTable;
        case ContainerKind::list:
        case ContainerKind::deque:  // its first block, which stays while items are only appended
            break;
    }
    return kListItems;
}

class PlaceFinder {
  public:
    PlaceFinder(ObjectGraph& graph, const ObjectPaths& paths, const std::function<std::uint64_t(NodeNumber)>& retained)
        : graph_(graph), paths_(paths), retained_(retained), reader_(graph.reader()), memory_(reader_.memory()) {}

    std::vector<ContainerPlace> find() {
        choose();
        std::vector<ContainerPlace> places;
        places.reserve(chosen_.size());
        for (const Chosen& each : chosen_) places.push_back(place_of(each));
        find_slots(places);
        std::ranges::sort(places, {}, &ContainerPlace::address);
        return places;
    }

  private:
    struct Chosen {
        NodeNumber node = 0;
        ContainerKind kind{};
        std::uint64_t length = 0, weight = 0;
    };

    void choose() {
        const auto heavier = [](const Chosen& a, const Chosen& b) {
            return a.weight != b.weight ? a.weight > b.weight : a.node < b.node;
        };
        const auto shorten = [&] {
            if (chosen_.size() <= kMostContainerPlaces) return;
            std::ranges::nth_element(chosen_, chosen_.begin() + kMostContainerPlaces, heavier);
            chosen_.resize(kMostContainerPlaces);
        };
        for (NodeNumber node = 1; node < graph_.count(); ++node) {
            const PythonType& type = graph_.type(node);
            const auto kind = kind_of(type.kind);
            if (!kind || !paths_.has_path(node) || paths_.is_namespace(node)) continue;
            const std::uint64_t length = reader_.length(graph_.address(node), type), retained = retained_(node);
            if (length < kFewItems && retained < kLargeItems) continue;
            if (*kind == ContainerKind::deque && is_bounded_deque(graph_.address(node))) continue;
            chosen_.push_back({node, *kind, length, retained + 8 * length});
            if (chosen_.size() >= 2 * kMostContainerPlaces) shorten();
        }
        shorten();
        std::ranges::sort(chosen_, heavier);
    }

    bool is_bounded_deque(Address deque) {
        constexpr std::uint64_t kMaximum = 64;
        return static_cast<std::int64_t>(memory_.word(deque + kMaximum)) >= 0;
    }

    ContainerPlace place_of(const Chosen& each) {
        const Address address = graph_.address(each.node);
        return {.address = address,
                .type = memory_.word(address + kType),
                .items = memory_.word(address + items_offset(each.kind)),
                .length = each.length,
                .kind = each.kind};
    }

    // The word of the referrer on the path. A container that a root holds has none, unless the root is a frame.
    void find_slots(std::vector<ContainerPlace>& places) {
        std::unordered_map<Address, std::size_t> wanted;  // by address; an index
        std::vector<NodeNumber> referrers;
        for (std::size_t i = 0; i < places.size(); ++i) {
            const NodeNumber above = paths_.parent(chosen_[i].node);
            if (above == 0) continue;
            wanted.emplace(places[i].address, i);
            if (known_.insert(above).second) referrers.push_back(above);
        }
        for (const NodeNumber referrer : referrers) {
            if (words_ >= kMostWords || memory_.late()) return;
            for (const HeapRange& range : referrer_words(reader_, graph_.address(referrer), graph_.type(referrer))) {
                const std::uint64_t count = std::min(range.size() / 8, kMostWords - std::min(kMostWords, words_));
                words_ += count;
                if (!memory_.is_mapped(range.start, count * 8)) continue;
                memory_.for_words(range.start, count, [&](std::uint64_t i, Address target) {
                    const auto found = wanted.find(target & ~std::uint64_t{7});
                    if (found != wanted.end()) places[found->second].slot = range.start + 8 * i;
                });
            }
        }
    }

    ObjectGraph& graph_;
    const ObjectPaths& paths_;
    const std::function<std::uint64_t(NodeNumber)>& retained_;
    ObjectReader& reader_;
    HeapCopy& memory_;
    std::vector<Chosen> chosen_{};
    std::unordered_set<NodeNumber> known_{};
    std::uint64_t words_ = 0;
};

}  // namespace

std::vector<ContainerPlace> find_container_places(ObjectGraph& graph, const ObjectPaths& paths,
                                                  const std::function<std::uint64_t(NodeNumber)>& retained) {
    return PlaceFinder(graph, paths, retained).find();
}

}  // namespace memscope
