#include "sources/heap/python/dominators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <set>

namespace memscope {
namespace dominators_test {

using Graph = std::vector<std::vector<NodeNumber>>;  // targets by node; node 0 has none

ObjectEdges edges_of(const Graph& graph) {
    ObjectEdges edges;
    for (const auto& targets : graph) {
        edges.next_node();
        for (const NodeNumber target : targets) edges.add(target, 1);
    }
    return edges;
}

// Values retained by each node, if each node has 1.
std::vector<std::uint64_t> retained(const Graph& graph, const std::vector<NodeNumber>& roots) {
    const Dominators found = find_dominators(edges_of(graph), roots);
    std::vector<std::uint64_t> sums(found.order.size(), 1);
    found.add_up(sums);
    std::vector<std::uint64_t> by_node(graph.size());
    for (std::size_t i = 0; i < graph.size(); ++i)
        if (found.place[i] != kNoNode) by_node[i] = sums[found.place[i]];
    return by_node;
}

// The nodes that are still reached without this node, computed in the slow way.
std::set<NodeNumber> reached_without(const Graph& graph, const std::vector<NodeNumber>& roots, NodeNumber without) {
    std::set<NodeNumber> reached;
    std::vector<NodeNumber> waiting;
    const auto offer = [&](NodeNumber node) {
        if (node != without && reached.insert(node).second) waiting.push_back(node);
    };
    for (const NodeNumber root : roots) offer(root);
    while (!waiting.empty()) {
        const NodeNumber node = waiting.back();
        waiting.pop_back();
        for (const NodeNumber target : graph[node]) offer(target);
    }
    return reached;
}

TEST(Dominators, AChainIsRetainedByItsStart) {
    EXPECT_THAT(retained({{}, {2}, {3}, {}}, {1}), testing::ElementsAre(4, 3, 2, 1));
}

TEST(Dominators, AnObjectWithTwoHoldersIsRetainedByTheirCommonHolder) {
    EXPECT_THAT(retained({{}, {2, 3}, {4}, {4}, {}}, {1}), testing::ElementsAre(5, 4, 1, 1, 1));
}

TEST(Dominators, AnObjectThatIsAlsoARootIsNotRetainedByAnother) {
    EXPECT_THAT(retained({{}, {2}, {}}, {1, 2}), testing::ElementsAre(3, 1, 1));
}

TEST(Dominators, CyclesAndUnreachedObjectsAreNoTrouble) {
    EXPECT_THAT(retained({{}, {2}, {1, 3}, {2}, {3}}, {1}), testing::ElementsAre(4, 3, 2, 1, 0));
    EXPECT_THAT(retained({{}, {1, 1}}, {1, 1}), testing::ElementsAre(2, 1));
    EXPECT_THAT(retained({{}}, {}), testing::ElementsAre(1));
}

TEST(Dominators, RandomGraphsAgreeWithTheDefinition) {
    std::mt19937 random(7);
    for (int round = 0; round < 200; ++round) {
        const NodeNumber nodes = 2 + random() % 30;
        Graph graph(nodes);
        for (std::size_t i = 0; i < nodes * (1 + random() % 3); ++i)
            graph[1 + random() % (nodes - 1)].push_back(1 + random() % (nodes - 1));
        const std::vector<NodeNumber> roots{1, static_cast<NodeNumber>(1 + random() % (nodes - 1))};
        const auto found = retained(graph, roots);
        const std::size_t all = reached_without(graph, roots, 0).size();
        for (NodeNumber node = 1; node < nodes; ++node) {
            const std::size_t freed = all - reached_without(graph, roots, node).size();
            EXPECT_EQ(found[node], freed) << "node " << node << " in round " << round;
        }
    }
}

TEST(ObjectEdges, KeepTheLowerCostOfARepeatedTarget) {
    ObjectEdges edges;
    edges.next_node();
    edges.add(5, 20);
    EXPECT_TRUE(edges.merge_with_last(5, 1));
    EXPECT_FALSE(edges.merge_with_last(6, 1));
    edges.add(6, 12);
    edges.next_node();
    EXPECT_FALSE(edges.merge_with_last(6, 1)) << "of another node";
    EXPECT_EQ(edges.end(0) - edges.begin(0), 2U);
    EXPECT_EQ(edges.end(1) - edges.begin(1), 0U);
    EXPECT_EQ(edges.target(0), 5U);
    EXPECT_EQ(edges.cost(0), 1U);
    EXPECT_EQ(edges.cost(1), 12U);
}

}  // namespace dominators_test
}  // namespace memscope
