#pragma once
#include <functional>
#include <span>
#include <vector>

#include "sources/heap/python/object_edges.h"

namespace memscope {

struct CycleMember {
    bool native = false;            // an object of C++
    bool refers_to_itself = false;  // such a reference is no edge. Known for objects to which nothing else refers
    int rank = 0;                   // the name of the object with the highest rank tells most
};

// A strongly connected component.
struct ObjectCycle {
    NodeNumber best = 0;  // the object with the highest rank
    bool through_native = false;
};

// The cycles among `nodes`, which are sorted, to which no other of these nodes refers.
std::vector<ObjectCycle> find_cycles(const ObjectEdges& edges, std::span<const NodeNumber> nodes,
                                     const std::function<CycleMember(NodeNumber)>& describe);

}  // namespace memscope
