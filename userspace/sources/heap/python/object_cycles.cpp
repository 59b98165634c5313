#include "sources/heap/python/object_cycles.h"

#include <algorithm>

namespace memscope {
namespace {

struct Component {
    NodeNumber best = 0;
    int rank = -1;
    bool is_entered = false, has_native = false, has_cycle = false;
    std::uint32_t size = 0;
};

// Tarjan's algorithm. `order`: when a node was found; `low`: the earliest node on the stack that it leads to.
class Components {
  public:
    Components(const ObjectEdges& edges, std::span<const NodeNumber> nodes,
               const std::function<CycleMember(NodeNumber)>& describe)
        : edges_(edges),
          nodes_(nodes),
          describe_(describe),
          place_(nodes.empty() ? 0 : nodes.back() + 1, kNoNode),
          order_(nodes.size(), kUnknown),
          low_(nodes.size()),
          component_(nodes.size(), kNoNode) {
        for (std::uint32_t i = 0; i < nodes.size(); ++i) place_[nodes[i]] = i;
    }

    std::vector<Component> find() {
        for (std::uint32_t first = 0; first < nodes_.size(); ++first)
            if (order_[first] == kUnknown) search(first);
        for (std::uint32_t at = 0; at < nodes_.size(); ++at)
            for (std::uint32_t e = edges_.begin(nodes_[at]), end = edges_.end(nodes_[at]); e < end; ++e)
                if (const std::uint32_t target = place_of(edges_.target(e)); target != kNoNode)
                    (component_[target] == component_[at] ? components_[component_[at]].has_cycle
                                                          : components_[component_[target]].is_entered) = true;
        return std::move(components_);
    }

  private:
    static constexpr std::uint32_t kUnknown = 0;
    struct Step {
        std::uint32_t at;
        std::uint32_t edge;
    };

    std::uint32_t place_of(NodeNumber node) const { return node < place_.size() ? place_[node] : kNoNode; }

    void begin(std::uint32_t at) {
        order_[at] = low_[at] = ++found_;
        open_.push_back(at);
        steps_.push_back({at, edges_.begin(nodes_[at])});
    }

    void search(std::uint32_t first) {
        begin(first);
        while (!steps_.empty()) {
            Step& step = steps_.back();
            const std::uint32_t at = step.at;
            if (step.edge < edges_.end(nodes_[at])) {
                const std::uint32_t target = place_of(edges_.target(step.edge++));
                if (target == kNoNode) continue;
                if (order_[target] == kUnknown)
                    begin(target);
                else if (component_[target] == kNoNode)
                    low_[at] = std::min(low_[at], order_[target]);
                continue;
            }
            steps_.pop_back();
            if (!steps_.empty()) low_[steps_.back().at] = std::min(low_[steps_.back().at], low_[at]);
            if (low_[at] == order_[at]) close(at);
        }
    }

    // All nodes that were found since `last` are a component.
    void close(std::uint32_t last) {
        Component& made = components_.emplace_back();
        std::uint32_t member = kNoNode;
        do {
            member = open_.back();
            open_.pop_back();
            component_[member] = static_cast<std::uint32_t>(components_.size() - 1);
            ++made.size;
            const CycleMember its = describe_(nodes_[member]);
            made.has_native |= its.native;
            if (its.rank > made.rank) {
                made.best = nodes_[member];
                made.rank = its.rank;
            }
        } while (member != last);
    }

    const ObjectEdges& edges_;
    std::span<const NodeNumber> nodes_;
    const std::function<CycleMember(NodeNumber)>& describe_;
    std::vector<std::uint32_t> place_;  // by node
    std::vector<std::uint32_t> order_, low_, component_;
    std::vector<std::uint32_t> open_{};
    std::vector<Component> components_{};
    std::vector<Step> steps_{};
    std::uint32_t found_ = 0;
};

}  // namespace

std::vector<ObjectCycle> find_cycles(const ObjectEdges& edges, std::span<const NodeNumber> nodes,
                                     const std::function<CycleMember(NodeNumber)>& describe) {
    std::vector<ObjectCycle> cycles;
    for (const Component& each : Components(edges, nodes, describe).find()) {
        // Without a cycle it has been freed, or a reference to it is newer than the copy.
        const bool is_cycle = each.has_cycle || (each.size == 1 && describe(each.best).refers_to_itself);
        if (!each.is_entered && is_cycle)
            cycles.push_back({.best = each.best, .through_native = each.has_native && each.size > 1});
    }
    return cycles;
}

}  // namespace memscope
