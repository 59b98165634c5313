#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sources/heap/python/object_edges.h"
#include "sources/heap/python/object_reader.h"
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

// Where paths begin.
struct ObjectRoot {
    enum Kind : std::uint8_t { module, frame, temporary, interpreter, library, native, garbage } kind{};
    std::uint8_t cost = 0;
    NodeNumber node = 0;
    std::uint64_t detail = 0;  // module: address of its name; frame: its address
};

// The objects of a process that refer to others, with their references. Numbers and strings that have one reference are
// no nodes: their bytes count for the object that refers to them. Memory is limited: objects are found from the roots
// on, level by level, and those beyond the limit count with their own size only.
class ObjectGraph {
  public:
    struct OfType {
        std::uint64_t count = 0, bytes = 0;
    };
    struct Gaps {
        std::uint64_t torn = 0, left_out = 0;
        bool late = false;
    };

    ObjectGraph(ObjectReader& reader, TorchObjects& torch, PythonPools& pools, std::uint64_t most_bytes);

    // `statics`: present writable data of libraries.
    void build(std::span<const HeapRange> statics);

    std::uint32_t count() const { return static_cast<std::uint32_t>(address_.size()); }
    Address address(NodeNumber node) const { return address_[node]; }
    const PythonType& type(NodeNumber node) const { return reader_.types()[type_[node]]; }
    std::uint64_t bytes(NodeNumber node) const { return bytes_[node]; }
    std::uint64_t device_bytes(NodeNumber node) const {
        const auto found = device_.find(node);
        return found == device_.end() ? 0 : found->second;
    }
    const std::unordered_map<NodeNumber, std::uint64_t>& devices() const { return device_; }
    const ObjectEdges& edges() const { return edges_; }
    std::span<const ObjectRoot> roots() const { return roots_; }
    const std::vector<OfType>& by_type() const { return by_type_; }
    std::span<const Address> tensors() const { return tensors_; }
    std::span<const Address> arrays() const { return arrays_; }
    const Gaps& gaps() const { return gaps_; }
    double references_explained() const;
    std::uint32_t references_found(NodeNumber node) const { return found_[node]; }

    // Calls emit(NodeNumber, Slot) for the references of a node to other nodes.
    template <class Emit>
    void references_of(NodeNumber node, Emit&& emit);
    static std::uint32_t cost_of(Slot::Kind kind);

    ObjectReader& reader() { return reader_; }
    TorchObjects& torch() { return torch_; }

  private:
    auto address_of() const {
        return [this](NodeNumber node) { return address_[node]; };
    }
    void read_pools();
    void count(const PythonType& type, std::uint64_t bytes);
    void note(Address object, const PythonType& type);
    NodeNumber add(Address address, const PythonType& type);
    NodeNumber node_of(Address target, NodeNumber referrer);
    NodeNumber native_node_of(Address target, const PythonType& type);
    void link(NodeNumber from, NodeNumber target, Slot slot);
    void expand();
    void expand_node(NodeNumber node);
    void weigh(NodeNumber node);
    bool is_full() const;

    void add_root(ObjectRoot::Kind kind, std::uint8_t cost, Address address, std::uint64_t detail);
    void add_interpreters();
    void add_threads(Address interpreter);
    void add_uncertain_roots(std::span<const HeapRange> statics);
    void add_unreached();

    ObjectReader& reader_;
    ObjectData& data_;
    HeapCopy& memory_;
    TorchObjects& torch_;
    PythonPools& pools_;
    std::uint64_t most_bytes_;
    const PythonType& running_;

    PiecewiseVector<Address> address_{};
    PiecewiseVector<std::uint64_t> bytes_{};
    PiecewiseVector<std::uint32_t> type_{};
    PiecewiseVector<std::uint32_t> found_{};  // references that were found
    ObjectEdges edges_{};
    NodeIndex index_;
    std::unordered_map<NodeNumber, std::uint64_t> device_{};
    std::vector<ObjectRoot> roots_{};
    std::vector<ObjectRoot> uncertain_{};  // roots only of objects that nothing else holds
    std::vector<OfType> by_type_{};
    std::vector<Address> tensors_{}, arrays_{};
    std::unordered_set<Address> array_data_{};  // a storage that was made from an array has no memory of its own
    std::uint64_t asked_ = 0, explained_ = 0;
    Gaps gaps_{};
    std::size_t next_calibration_ = 1;  // number of known tensors for the next try
    bool is_closed_ = false;            // no node is added any more
};

// ---------------------------------------------------------------------------------------------------------------------

template <class Emit>
void ObjectGraph::references_of(NodeNumber node, Emit&& emit) {
    const Address object = address_[node];
    const PythonType& its = type(node);
    const auto python = [&](Address target, Slot slot) {
        if (const NodeNumber found = node_of(target, node); found != 0) emit(found, slot);
    };
    const auto native = [&](Address target, const PythonType& of, Slot slot) {
        if (const NodeNumber found = native_node_of(target, of); found != 0) emit(found, slot);
    };
    if (is_native(its.kind)) {
        torch_.references_of(object, its, native, python);
        return;
    }
    if (torch_.is_ready() && (its.kind == ObjectKind::tensor || its.kind == ObjectKind::storage)) {
        const bool is_tensor = its.kind == ObjectKind::tensor;
        const Address impl = is_tensor ? torch_.impl_of(object) : torch_.storage_of(object);
        const PythonType* of = impl >= ObjectData::kLowest ? torch_.class_of(impl) : nullptr;
        if (of != nullptr) native(impl, *of, Slot{is_tensor ? Slot::impl : Slot::storage});
    }
    reader_.references_of(object, its, python);
}

}  // namespace memscope
