#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace memscope {

// A vector that grows in pieces of 64 Ki elements and never copies them: its memory is that of its elements.
template <class T>
class PiecewiseVector {
  public:
    static constexpr std::size_t kPiece = std::size_t{1} << 16;

    void push_back(T value) {
        if (next_ == end_) {
            pieces_.push_back(std::make_unique_for_overwrite<T[]>(kPiece));
            next_ = pieces_.back().get();
            end_ = next_ + kPiece;
        }
        *next_++ = value;
        ++size_;
    }
    T& operator[](std::size_t i) { return pieces_[i / kPiece][i % kPiece]; }
    const T& operator[](std::size_t i) const { return pieces_[i / kPiece][i % kPiece]; }
    T& back() { return next_[-1]; }
    const T& back() const { return next_[-1]; }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    std::size_t bytes() const { return pieces_.size() * kPiece * sizeof(T); }

  private:
    std::vector<std::unique_ptr<T[]>> pieces_{};
    T* next_ = nullptr;  // the place of the next element in the last piece
    T* end_ = nullptr;   // of the last piece
    std::size_t size_ = 0;
};

using NodeNumber = std::uint32_t;
constexpr NodeNumber kNoNode = ~NodeNumber{0};

// References between numbered objects. The cost of an edge is high if the edge tells a programmer little.
class ObjectEdges {
  public:
    static constexpr NodeNumber kMostNodes = NodeNumber{1} << 28;
    static constexpr std::uint8_t kCosts[] = {0, 1, 2, 3, 5, 6, 8, 12, 20};
    static constexpr std::uint32_t kHighestCost = 20;

    // The edges of nodes are added in the order of the nodes: first all of node 0, then next_node(), ...
    void next_node() { first_.push_back(static_cast<std::uint32_t>(edges_.size())); }
    void add(NodeNumber target, std::uint32_t cost) { edges_.push_back(target | kClasses[cost] << 28U); }
    // If the last edge of the current node has this target, keeps the lower of both costs. False if it has another
    // target, or if the node has no edge yet.
    bool merge_with_last(NodeNumber target, std::uint32_t cost) {
        if (first_.empty() || edges_.size() == first_.back() || (edges_.back() & kTarget) != target) return false;
        if (cost < kCosts[edges_.back() >> 28U]) edges_.back() = target | kClasses[cost] << 28U;
        return true;
    }

    struct Late {
        NodeNumber from = 0, target = 0;
        std::uint32_t cost = 0;
    };
    // Adds edges to nodes that have been passed. Copies all edges, so it is for rare cases. `late`: by `from`.
    void insert(std::span<const Late> late) {
        ObjectEdges all;
        std::size_t next = 0;
        for (NodeNumber node = 0; node < first_.size(); ++node) {
            all.next_node();
            for (std::uint32_t e = begin(node), last = end(node); e < last; ++e) all.edges_.push_back(edges_[e]);
            for (; next < late.size() && late[next].from == node; ++next) all.add(late[next].target, late[next].cost);
        }
        *this = std::move(all);
    }

    std::size_t nodes() const { return first_.size(); }
    std::size_t size() const { return edges_.size(); }
    std::uint32_t begin(NodeNumber node) const { return node < first_.size() ? first_[node] : edge_count(); }
    std::uint32_t end(NodeNumber node) const { return node + 1 < first_.size() ? first_[node + 1] : edge_count(); }
    void prefetch_node(NodeNumber node) const { __builtin_prefetch(&first_[std::min<std::size_t>(node, nodes() - 1)]); }
    void prefetch_edges(NodeNumber node) const {
        if (const std::uint32_t edge = begin(node); edge < edges_.size()) __builtin_prefetch(&edges_[edge]);
    }
    NodeNumber target(std::uint32_t edge) const { return edges_[edge] & kTarget; }
    std::uint32_t cost(std::uint32_t edge) const { return kCosts[edges_[edge] >> 28U]; }
    std::size_t bytes() const { return first_.bytes() + edges_.bytes(); }

  private:
    static constexpr std::uint32_t kTarget = kMostNodes - 1;
    // By cost: the place in kCosts of the first cost that is not lower.
    static constexpr std::array<std::uint32_t, kHighestCost + 1> kClasses = [] {
        std::array<std::uint32_t, kHighestCost + 1> classes{};
        for (std::uint32_t cost = 0; cost <= kHighestCost; ++cost)
            while (kCosts[classes[cost]] < cost) ++classes[cost];
        return classes;
    }();
    std::uint32_t edge_count() const { return static_cast<std::uint32_t>(edges_.size()); }

    PiecewiseVector<std::uint32_t> first_{};
    PiecewiseVector<std::uint32_t> edges_{};
};

}  // namespace memscope
