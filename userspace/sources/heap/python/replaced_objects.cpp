#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <utility>

#include "sources/heap/python/object_graph.h"
#include "sources/heap/python/referrer_words.h"

// Objects that the process replaces while it is read: a variable, an attribute or an item that refers to a new tensor,
// array or container in each step. The copy has the old one, which is freed before the graph gets to its memory.
namespace memscope {
namespace {

constexpr std::size_t kMostAsked = 65'536;       // objects
constexpr std::size_t kMostReferrers = 512;      // to freed objects
constexpr std::uint32_t kMostReferences = 4096;  // of a referrer that is read again
constexpr int kReplacedRounds = 3;               // the new object can be replaced, too

}  // namespace

// True for each object that has been freed since it was copied.
std::vector<bool> ObjectGraph::are_freed(std::span<const NodeNumber> nodes) {
    std::vector<Address> objects;
    objects.reserve(nodes.size());
    for (const NodeNumber node : nodes) objects.push_back(address(node));
    const std::vector<HeapCopy::Head> heads = memory_.heads_now(objects);
    std::vector<bool> freed(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const PythonType& its = type(nodes[i]);
        const auto& [references, type_now, first, second] = heads[i];
        const bool has_data = its.kind == ObjectKind::ndarray || its.kind == ObjectKind::tensor;
        const bool has_other_data =
            has_data && (first != memory_.word(objects[i] + 16) || second != memory_.word(objects[i] + 24));
        // A freed block has a link of a free list in its first word.
        freed[i] = type_now != its.address || references == 0 || references >> 48U > 0xFF ||
                   pools_.contains(references) || has_other_data;
    }
    return freed;
}

std::vector<NodeNumber> ObjectGraph::referrers_of(const std::vector<bool>& targets) {
    std::vector<NodeNumber> referrers;
    for (NodeNumber node = 1; node < edges_.nodes() && referrers.size() < kMostReferrers; ++node) {
        const ObjectKind kind = type(node).kind;
        if (is_native(kind) || kind == ObjectKind::type || kind == ObjectKind::module) continue;
        const std::uint32_t begin = edges_.begin(node), end = edges_.end(node);
        if (end - begin > kMostReferences) continue;
        for (std::uint32_t e = begin; e < end; ++e)
            if (targets[edges_.target(e)]) {
                referrers.push_back(node);
                break;
            }
    }
    return referrers;
}

// Only the variables that refer to freed objects: the others were read together with their arrays.
std::vector<HeapRange> ObjectGraph::variables_of_freed(std::span<const HeapRange> words,
                                                       const std::vector<bool>& freed) {
    std::vector<HeapRange> variables;
    for (const HeapRange& range : words)
        for (Address at = range.start; at < range.end; at += 8) {
            const Address target = memory_.word(at) & ~std::uint64_t{7};
            const NodeNumber node = node_of(target, 0);
            if (node == 0 ? pools_.contains(target) : node < freed.size() && freed[node])
                variables.push_back({at, at + 8});
        }
    return variables;
}

// Reads the references of an object again, and adds those that it has got since it was copied. A freed object to which
// it does not refer any more has no bytes.
void ObjectGraph::read_again(NodeNumber node, const std::vector<bool>& freed, std::vector<ObjectEdges::Late>& late) {
    constexpr std::uint64_t kBefore = 32;  // attributes of an instance are before it
    constexpr std::uint64_t kMostBytes = 64 << 10;
    const PythonType& its = type(node);
    const Address object = address(node);
    if (its.kind != ObjectKind::running) {
        const HeapRange head{object - kBefore, object + std::clamp<std::uint64_t>(its.basic, 16, kMostBytes)};
        memory_.copy_again({&head, 1});
    }
    std::vector<HeapRange> words = referrer_words(reader_, object, its);
    std::erase_if(words, [](const HeapRange& range) { return range.size() == 0 || range.size() > kMostBytes; });
    if (its.kind == ObjectKind::running) words = variables_of_freed(words, freed);
    memory_.copy_again(words);
    const std::uint32_t begin = edges_.begin(node), end = edges_.end(node);
    std::unordered_set<NodeNumber> present;
    references_of(node, [&](NodeNumber target, Slot slot) {
        present.insert(target);
        if (slot.kind == Slot::maybe_stack || slot.kind == Slot::field || target == node) return;
        for (std::uint32_t e = begin; e < end; ++e)
            if (edges_.target(e) == target) return;
        if (found_[target] < kMostFound) ++found_[target];
        late.push_back({node, target, cost_of(slot.kind)});
    });
    expand();  // at once, before the new object is replaced
    for (std::uint32_t e = begin; e < end; ++e)
        if (const NodeNumber target = edges_.target(e); freed[target] && !present.contains(target)) {
            bytes_[target] = 0;
            large_.erase(target);
        }
    for (const NodeNumber target : present)
        if (target < freed.size() && freed[target]) weigh_again(target);
}

// Another variable refers to the address of a freed object: the memory was used again for a new object of this type,
// which can have any size.
void ObjectGraph::weigh_again(NodeNumber node) {
    constexpr std::uint64_t kObjectHead = 112;  // enough for an array
    const PythonType& its = type(node);
    if (its.kind != ObjectKind::ndarray) return;
    const Address object = address(node);
    const HeapRange head{object, object + kObjectHead};
    memory_.copy_again({&head, 1});
    reader_.arrays().forget(object);
    bytes_[node] = 0;
    large_.erase(node);
    if (memory_.word(object + object_offsets::kType) == its.address && reader_.arrays().remember(object))
        add_bytes(node, own_size(object, its));
}

// What refers to an object that has been freed refers to a newer one now.
void ObjectGraph::follow_replaced() {
    if (!in_order_ || !copied_whole_ || overflow_ || gaps_.late) return;
    std::vector<NodeNumber> asked = large_containers_;
    for (const std::span<const Address> objects : {tensors(), arrays()})
        for (const Address object : objects) {
            const std::size_t arena = pools_.arena_at(object);
            NodeNumber node = arena != PythonPools::kNoArena ? pooled_.find(arena, object) : 0;
            if (node == 0) node = index_.find(object, address_of());
            if (node != 0 && node != PoolObjects::kLeaf && asked.size() < kMostAsked) asked.push_back(node);
        }
    for (int round = 0; round < kReplacedRounds && !memory_.late(); ++round) {
        const std::vector<bool> freed = are_freed(asked);
        std::vector<bool> targets(count());
        for (std::size_t i = 0; i < asked.size(); ++i)
            if (freed[i] && !reader_.arrays().remembers(address(asked[i]))) targets[asked[i]] = true;
        std::vector<NodeNumber> referrers = std::exchange(stale_, {});
        if (std::ranges::find(targets, true) != targets.end())
            std::ranges::copy(referrers_of(targets), std::back_inserter(referrers));
        std::ranges::sort(referrers);  // the order of the edges
        const auto twice = std::ranges::unique(referrers);
        referrers.erase(twice.begin(), twice.end());
        const std::vector<bool> are_gone = are_freed(referrers);
        const NodeNumber known = count();
        std::vector<ObjectEdges::Late> late;
        for (std::size_t i = 0; i < referrers.size() && !overflow_; ++i)
            if (edges_.end(referrers[i]) - edges_.begin(referrers[i]) <= kMostReferences &&
                (type(referrers[i]).kind == ObjectKind::running || !are_gone[i]))
                read_again(referrers[i], targets, late);
        if (late.empty()) return;
        edges_.insert(late);
        asked.clear();
        for (NodeNumber node = known; node < count(); ++node)
            if (const ObjectKind kind = type(node).kind; kind == ObjectKind::tensor || kind == ObjectKind::ndarray)
                asked.push_back(node);
    }
}

// Drops the objects that have been freed since the copy. They were held, so they are no garbage, but nobody holds them
// any more.
void ObjectGraph::drop_freed(std::vector<NodeNumber>& nodes) {
    if (nodes.size() > kMostAsked) return;
    const std::vector<bool> freed = are_freed(nodes);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (freed[i])
            reach(nodes[i], ObjectRoot::native);
        else
            nodes[kept++] = nodes[i];
    }
    nodes.resize(kept);
}

}  // namespace memscope
