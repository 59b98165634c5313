#include "sources/heap/python/dominators.h"

#include <algorithm>

namespace memscope {
namespace {

// Numbers the nodes that the roots reach. Returns the parents in the search tree, by number.
std::vector<std::uint32_t> search(const ObjectEdges& edges, std::span<const NodeNumber> roots, Dominators& found) {
    struct Step {
        NodeNumber node;
        std::uint32_t edge;
    };
    found.place.assign(edges.nodes(), kNoNode);
    std::vector<std::uint32_t> parent;
    found.order.reserve(edges.nodes() + 1);  // a vector that grows needs twice the memory for a moment
    parent.reserve(edges.nodes() + 1);
    found.order.push_back(0);
    parent.push_back(0);
    if (found.place.empty()) return parent;
    found.place[0] = 0;
    std::vector<Step> stack;
    const auto visit = [&](NodeNumber node, std::uint32_t from) {
        if (node >= found.place.size() || found.place[node] != kNoNode) return;
        found.place[node] = static_cast<std::uint32_t>(found.order.size());
        found.order.push_back(node);
        parent.push_back(from);
        stack.push_back({node, edges.begin(node)});
    };
    for (const NodeNumber root : roots) {
        visit(root, 0);
        while (!stack.empty()) {
            Step& top = stack.back();
            if (top.edge == edges.end(top.node)) {
                stack.pop_back();
                continue;
            }
            const NodeNumber from = top.node;
            visit(edges.target(top.edge++), found.place[from]);
        }
    }
    return parent;
}

}  // namespace

Dominators find_dominators(const ObjectEdges& edges, std::span<const NodeNumber> roots) {
    Dominators found;
    const std::vector<std::uint32_t> parent = search(edges, roots, found);
    const auto count = static_cast<std::uint32_t>(found.order.size());
    const auto place_of = [&](NodeNumber node) { return node < found.place.size() ? found.place[node] : kNoNode; };

    // The edges in reverse, by number.
    const auto each_edge = [&](auto&& use) {
        for (const NodeNumber root : roots)
            if (place_of(root) != kNoNode) use(0U, place_of(root));
        for (std::uint32_t i = 1; i < count; ++i) {
            // The nodes are all over the memory: what a later one needs is fetched into the cache of the CPU.
            constexpr std::uint32_t kAhead = 8;
            if (i + 2 * kAhead < count) edges.prefetch_node(found.order[i + 2 * kAhead]);
            if (i + kAhead < count) edges.prefetch_edges(found.order[i + kAhead]);
            for (std::uint32_t e = edges.begin(found.order[i]), end = edges.end(found.order[i]); e < end; ++e)
                if (const std::uint32_t target = place_of(edges.target(e)); target != kNoNode) use(i, target);
        }
    };
    std::vector<std::uint32_t> first_source(count + 1);
    each_edge([&](std::uint32_t, std::uint32_t target) { ++first_source[target]; });
    std::uint32_t sum = 0;
    for (std::uint32_t& each : first_source) {
        sum += each;
        each = sum;
    }
    std::vector<std::uint32_t> sources(sum);
    each_edge([&](std::uint32_t source, std::uint32_t target) { sources[--first_source[target]] = source; });

    std::vector<std::uint32_t> semi(count), label(count), ancestor = parent, path;
    for (std::uint32_t i = 0; i < count; ++i) semi[i] = label[i] = i;
    // The node with the lowest semidominator on the path from `node` up to `last`. Compresses the path for the next
    // call.
    const auto lowest_above = [&](std::uint32_t node, std::uint32_t last) {
        if (node <= last) return label[node];
        path.clear();
        for (std::uint32_t at = node; ancestor[at] > last; at = ancestor[at]) path.push_back(at);
        while (!path.empty()) {
            const std::uint32_t at = path.back(), above = ancestor[at];
            path.pop_back();
            if (semi[label[above]] < semi[label[at]]) label[at] = label[above];
            ancestor[at] = ancestor[above];
        }
        return label[node];
    };
    for (std::uint32_t i = count; i-- > 1;) {
        std::uint32_t best = parent[i];
        if (first_source[i + 1] - first_source[i] == 1) {  // only its parent, as of most nodes
            semi[i] = best;
            continue;
        }
        for (std::uint32_t s = first_source[i]; s < first_source[i + 1]; ++s)
            best = std::min(best, semi[lowest_above(sources[s], i)]);
        semi[i] = best;
    }
    found.above = std::move(ancestor);  // reuses the memory; all values are overwritten
    found.above[0] = 0;
    for (std::uint32_t i = 1; i < count; ++i) {
        std::uint32_t at = parent[i];
        while (at > semi[i]) at = found.above[at];
        found.above[i] = at;
    }
    return found;
}

}  // namespace memscope
