#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sources/heap/python/object_edges.h"

namespace memscope {

// Object A dominates object B if every path from the roots to B leads through A. If A were freed, B would be freed,
// too.
struct Dominators {
    std::vector<NodeNumber> order{};     // nodes that the roots reach, in the order of a depth-first search; node 0
                                         // stands for all roots and is the first
    std::vector<std::uint32_t> place{};  // by node: its index in `order`; kNoNode: not reached
    std::vector<std::uint32_t> above{};  // by index in `order`: index of the nearest dominator

    // Sum of values (by index in `order`) over everything that an object dominates, itself included.
    void add_up(std::vector<std::uint64_t>& values) const {
        for (std::size_t i = values.size(); i-- > 1;) values[above[i]] += values[i];
    }
    // With saturation.
    void add_up(std::vector<std::uint32_t>& values) const {
        for (std::size_t i = values.size(); i-- > 1;) {
            std::uint32_t& sum = values[above[i]];
            sum += std::min(values[i], ~sum);
        }
    }
};

// Semi-NCA. Node 0 has no edges: `roots` are its targets.
Dominators find_dominators(const ObjectEdges& edges, std::span<const NodeNumber> roots);

}  // namespace memscope
