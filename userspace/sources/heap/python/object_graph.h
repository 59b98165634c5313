#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "sources/heap/native_blocks.h"
#include "sources/heap/python/container_rereads.h"
#include "sources/heap/python/object_edges.h"
#include "sources/heap/python/object_reader.h"
#include "sources/heap/python/pool_objects.h"
#include "sources/heap/python/python_pools.h"
#include "sources/heap/python/torch_objects.h"

namespace memscope {

// The number of an object by its address. 4 bytes for each place of the table.
class NodeIndex {
  public:
    explicit NodeIndex(std::size_t expected);
    // 0: not there.
    template <class AddressOf>
    NodeNumber find(Address address, AddressOf&& address_of) const {
        for (std::size_t at = place(address);; at = (at + 1) & mask_)
            if (table_[at] == 0 || address_of(table_[at]) == address) return table_[at];
    }
    template <class AddressOf>
    void add(NodeNumber node, AddressOf&& address_of) {
        if (2 * (used_ + 1) > table_.size()) grow(address_of);
        put(node, address_of(node));
    }
    std::size_t bytes() const { return table_.size() * sizeof table_[0]; }

  private:
    std::size_t place(Address address) const { return (address >> 4U) * 0x9E3779B97F4A7C15U >> shift_; }
    void put(NodeNumber node, Address address) {
        std::size_t at = place(address);
        while (table_[at] != 0) at = (at + 1) & mask_;
        table_[at] = node;
        ++used_;
    }
    template <class AddressOf>
    void grow(AddressOf&& address_of) {
        std::vector<NodeNumber> old(table_.size() * 2);
        old.swap(table_);
        mask_ = table_.size() - 1;
        --shift_;
        used_ = 0;
        for (const NodeNumber node : old)
            if (node != 0) put(node, address_of(node));
    }
    std::vector<NodeNumber> table_;
    std::size_t mask_ = 0, used_ = 0;
    unsigned shift_ = 0;
};

// A root: a path begins here.
struct ObjectRoot {
    enum Kind : std::uint8_t {
        module,
        frame,
        temporary,
        interpreter,
        library,
        native,   // C code holds a reference
        garbage,  // nothing does: a cycle, of which this is one object
        cpp,      // likewise, but the cycle leads through C++, where the garbage collector of Python does not see it
    } kind{};
    std::uint8_t cost = 0;
    NodeNumber node = 0;
    std::uint64_t detail = 0;  // module: address of its name; frame: its address
};

// The objects of a process that refer to others, with their references. Numbers and strings that have one reference are
// no nodes: their bytes count for the object that refers to them. The nodes are the objects in pools, in the order of
// their addresses, and behind them the other objects, in the order in which references to them are found. So the memory
// of the process is read from the lowest address to the highest, once, also if the copy has room for a part only.
// If the graph itself does not fit into memory, objects are found from the roots on instead, level by level, and those
// beyond the limit count with their own size only.
class ObjectGraph {
  public:
    struct OfType {
        std::uint64_t count = 0, bytes = 0;
    };
    struct Gaps {
        std::uint64_t torn = 0, left_out = 0;
        bool late = false;
    };

    // `inherited`: pages of a forked process that it shares with its parent. Null: it was not forked.
    // `blocks`: the blocks of malloc. The graph says what lies in them. Null: they are not known.
    ObjectGraph(ObjectReader& reader, TorchObjects& torch, PythonPools& pools, std::uint64_t most_bytes,
                const PresentPages* inherited = nullptr, NativeBlocks* blocks = nullptr);

    // `statics`: present writable data of libraries.
    void build(std::span<const HeapRange> statics);

    NodeNumber pooled() const { return pooled_.count(); }  // nodes 1 to this one are in pools
    std::uint32_t count() const { return static_cast<std::uint32_t>(type_.size()); }
    Address address(NodeNumber node) const {
        if (node > pooled_.count()) return others_[node - pooled_.count() - 1];
        return node == 0 ? 0 : pooled_.address(node);
    }
    const PythonType& type(NodeNumber node) const { return reader_.types()[type_[node]]; }
    ObjectKind kind(NodeNumber node) const { return kinds_[type_[node]]; }
    std::uint64_t bytes(NodeNumber node) const { return bytes_[node] == kLarge ? large_.at(node) : bytes_[node]; }
    const std::unordered_map<NodeNumber, std::uint64_t>& devices() const { return device_; }
    const ObjectEdges& edges() const { return edges_; }
    // The kind of the root that reaches a node first. None: no root is known to reach it, because not all was read.
    std::optional<ObjectRoot::Kind> held_by(NodeNumber node) const {
        if (node >= reached_.size() || !is_reached(node)) return std::nullopt;
        return static_cast<ObjectRoot::Kind>(reached_[node] - 1);
    }
    std::span<const ObjectRoot> roots() const { return roots_; }
    const std::vector<OfType>& by_type() const { return by_type_; }
    std::span<const Address> tensors() const { return tensors_; }
    std::span<const Address> arrays() const { return arrays_; }
    const Gaps& gaps() const { return gaps_; }
    bool is_torn(NodeNumber node) const { return torn_.contains(node); }
    // A word of an object that points into a block of malloc, and not to an object.
    struct NativeWord {
        NodeNumber from = 0;
        NativeBlocks::Number to = 0;
    };
    std::span<const NativeWord> native_words() const { return native_words_; }
    std::uint64_t outside_bytes() const { return outside_bytes_; }
    std::uint64_t raw_pool_bytes() const { return raw_pool_bytes_ - std::min(raw_pool_bytes_, claimed_pool_bytes_); }
    double references_explained() const;
    std::uint32_t references_found(NodeNumber node) const { return found_[node]; }  // at most 65535
    // Memory of the graph, and memory that dominators and paths need in addition.
    std::uint64_t memory() const;
    std::uint64_t later_memory() const;

    bool is_inherited(Address object) const { return inherited_ != nullptr && inherited_->contains(object); }
    // Bytes of a range that are not inherited.
    std::uint64_t own_bytes(Address start, std::uint64_t bytes) const {
        return inherited_ == nullptr ? bytes : bytes - std::min(bytes, inherited_->bytes_in({start, start + bytes}));
    }

    // Calls emit(NodeNumber, Slot) for the references of a node to other nodes.
    template <class Emit>
    void references_of(NodeNumber node, Emit&& emit);
    static std::uint32_t cost_of(Slot::Kind kind);

    ObjectReader& reader() { return reader_; }
    const PythonPools& pools() const { return pools_; }
    TorchObjects& torch() { return torch_; }

  private:
    static constexpr std::uint32_t kLarge = ~std::uint32_t{0};
    static constexpr std::uint16_t kMostFound = 65535;

    void claim(Address address, NodeNumber node, NativeBlocks::Kind kind);
    void claim_buffers(NodeNumber node);
    void note_outside(const HeapRange& buffer);
    void note_native(NodeNumber from, Address target, Slot::Kind kind);

    auto address_of() const {
        return [this](NodeNumber node) { return address(node); };
    }
    void begin();
    void read_pools();
    void read_arena(std::size_t arena);
    void count_dicts();
    void add_pooled(Address object, const PythonType& type, std::uint64_t size);
    void restart_from_roots();
    void find_nodes(std::span<const HeapRange> statics);
    void describe(const PythonType& type);
    void add_bytes(NodeNumber node, std::uint64_t bytes);
    void make_room();
    bool is_reached(NodeNumber node) const { return reached_[node] != 0; }
    void reach(NodeNumber from, ObjectRoot::Kind kind);
    void add_garbage();
    bool is_held_from_outside(NodeNumber node);
    void check_counts();
    void count(Address object, const PythonType& type, std::uint64_t bytes);
    std::uint64_t own_size(Address object, const PythonType& type);
    void note(Address object, const PythonType& type);
    NodeNumber add(Address address, const PythonType& type);
    NodeNumber node_of(Address target, NodeNumber referrer, bool exact = false);
    NodeNumber native_node_of(Address target, const PythonType& type);
    void link(NodeNumber from, NodeNumber target, Slot slot);
    void expand();
    void prefetch(NodeNumber node);
    void expand_node(NodeNumber node);
    void weigh(NodeNumber node);
    bool is_full();

    void add_root(ObjectRoot::Kind kind, std::uint8_t cost, Address address, std::uint64_t detail);
    void add_interpreters();
    std::vector<Address> interpreters();  // addresses of their states
    std::vector<Address> threads_of(Address interpreter);
    std::vector<Address> frames_of(Address thread);
    void copy_frames();
    void add_remembered_arrays();
    // In replaced_objects.cpp.
    void weigh_again(NodeNumber node);
    void follow_replaced();
    void drop_freed(std::vector<NodeNumber>& nodes);
    std::vector<bool> are_freed(std::span<const NodeNumber> nodes);
    std::vector<NodeNumber> referrers_of(const std::vector<bool>& targets);
    std::vector<HeapRange> variables_of_freed(std::span<const HeapRange> words, const std::vector<bool>& freed);
    void read_again(NodeNumber node, const std::vector<bool>& freed, std::vector<ObjectEdges::Late>& late);
    void add_threads(Address interpreter);
    void add_uncertain_roots(std::span<const HeapRange> statics);
    void add_unreached();

    ObjectReader& reader_;
    ObjectData& data_;
    HeapCopy& memory_;
    TorchObjects& torch_;
    PythonPools& pools_;
    std::uint64_t most_bytes_;
    const PresentPages* inherited_;
    const PythonType& running_;
    ContainerRereads rereads_;

    PoolObjects pooled_;                      // nodes 1 to pooled_.count()
    PiecewiseVector<Address> others_{};       // the nodes behind them
    PiecewiseVector<std::uint32_t> bytes_{};  // kLarge: in large_
    PiecewiseVector<std::uint16_t> type_{};
    PiecewiseVector<std::uint16_t> found_{};  // references that were found
    std::vector<ObjectKind> kinds_{};         // by index of the type
    std::unordered_map<NodeNumber, std::uint64_t> large_{};
    ObjectEdges edges_{};
    NodeIndex index_;                      // of the other nodes
    std::vector<std::uint8_t> reached_{};  // by node: 1 + kind of the root that reaches it first; 0: none does
    std::vector<NodeNumber> waiting_{};
    std::unordered_map<NodeNumber, std::uint64_t> device_{};
    struct Dict {
        Address object = 0;
        const PythonType* type = nullptr;
        NodeNumber node = 0;  // 0: none
    };
    std::vector<Dict> dicts_{};  // of the arena that is read: their size is in memory outside of them
    static constexpr std::size_t kNoObjects = 1 << 16;
    std::vector<Address> no_objects_ = std::vector<Address>(kNoObjects);  // addresses without an object, or of None
    std::vector<ObjectRoot> roots_{};
    static constexpr std::size_t kMostStale = 512;
    std::vector<NodeNumber> large_containers_{};
    std::vector<NodeNumber> stale_{};        // refer to objects that were freed before they were copied
    std::unordered_set<NodeNumber> torn_{};  // containers that changed faster than they were read
    std::vector<ObjectRoot> uncertain_{};    // roots only of objects that nothing else holds
    NativeBlocks* blocks_;
    std::vector<NativeWord> native_words_{};
    std::uint64_t raw_pool_bytes_ = 0;      // blocks of pools without an object
    std::uint64_t claimed_pool_bytes_ = 0;  // those of them that are buffers of objects
    std::uint64_t outside_bytes_ = 0;       // of arrays and tensors in mappings that are newer than the list of blocks
    std::vector<OfType> by_type_{};
    std::vector<Address> tensors_{}, arrays_{};
    std::unordered_set<Address> array_data_{};  // a storage that was made from an array has no memory of its own
    std::uint64_t asked_ = 0, explained_ = 0;
    Gaps gaps_{};
    std::size_t next_calibration_ = 1;  // number of known tensors for the next try
    std::uint32_t until_checked_ = 0;   // calls of is_full() until it looks at the memory again
    bool was_full_ = false;             // then
    NodeNumber prefetched_ = 0;         // what the nodes before it need was copied
    bool is_closed_ = false;            // no more nodes are added
    bool in_order_ = false;             // the objects in pools were added before all others
    bool overflow_ = false;             // the graph did not fit into memory in this order
    bool copied_whole_ = false;         // the copy of all pools was made at once
};

// ---------------------------------------------------------------------------------------------------------------------

template <class Emit>
void ObjectGraph::references_of(NodeNumber node, Emit&& emit) {
    const Address object = address(node);
    const PythonType& its = type(node);
    const auto native = [&](Address target, const PythonType& of, Slot slot) {
        if (const NodeNumber found = native_node_of(target, of); found != 0) emit(found, slot);
    };
    const bool may_hold_native = its.kind == ObjectKind::other && torch_.is_ready();
    const auto resolve = [&](Address target, Slot slot) {
        const bool exact =
            slot.kind != Slot::field && slot.kind != Slot::module_state && slot.kind != Slot::maybe_stack;
        if (const NodeNumber found = node_of(target, node, exact); found != 0) return emit(found, slot);
        // The grad_fn of a tensor, and other wrappers of PyTorch.
        const PythonType* of = may_hold_native && slot.kind == Slot::field ? torch_.class_of(target) : nullptr;
        if (of != nullptr) return native(target, *of, slot);
        note_native(node, target, slot.kind);
    };
    // The places of the targets are all over the memory of the graph. They are fetched a few references ahead.
    constexpr std::size_t kAhead = 16;
    std::array<std::pair<Address, Slot>, kAhead> waiting;
    std::size_t came = 0, gone = 0;
    const auto python = [&](Address target, Slot slot) {
        if (came - gone == kAhead) {
            resolve(waiting[gone % kAhead].first, waiting[gone % kAhead].second);
            ++gone;
        }
        pooled_.prefetch(pools_.arena_at(target), target);
        waiting[came++ % kAhead] = {target, slot};
    };
    const auto resolve_rest = [&] {
        for (; gone < came; ++gone) resolve(waiting[gone % kAhead].first, waiting[gone % kAhead].second);
    };
    if (is_native(its.kind)) {
        torch_.references_of(object, its, native, python);
        resolve_rest();
        return;
    }
    if (torch_.is_ready() && (its.kind == ObjectKind::tensor || its.kind == ObjectKind::storage)) {
        const bool is_tensor = its.kind == ObjectKind::tensor;
        const Address impl = is_tensor ? torch_.impl_of(object) : torch_.storage_of(object);
        const PythonType* of = impl >= ObjectData::kLowest ? torch_.class_of(impl) : nullptr;
        if (of != nullptr) native(impl, *of, Slot{is_tensor ? Slot::impl : Slot::storage});
    }
    reader_.references_of(object, its, python);
    resolve_rest();
}

}  // namespace memscope
