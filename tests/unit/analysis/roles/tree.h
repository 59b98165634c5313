#pragma once
#include <algorithm>
#include <deque>
#include <initializer_list>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "analysis/roles/roles.h"

namespace memscope {

// A process tree in the form that the collector passes. Owns the strings that the subjects point to.
class Tree {
  public:
    struct Node {
        pid_t pid = 0;
        pid_t parent = 0;
        std::string comm{};
        std::vector<std::string> argv{};
        std::optional<int> rank{};
        bool forked = false;
        std::optional<bool> own_memory = true;
        bool gpu_context = false;
        std::optional<int> gpu_index{};
        std::uint32_t exec_count = 0;
        std::uint64_t start_ns = 0;  // 0: in order of pids
    };

    Tree(std::initializer_list<Node> nodes) : nodes_(nodes) {}

    void add(Node node) { nodes_.push_back(std::move(node)); }
    void remove(pid_t pid) {
        std::erase_if(nodes_, [&](const Node& node) { return node.pid == pid; });
    }
    Node& at(pid_t pid) {
        for (Node& node : nodes_)
            if (node.pid == pid) return node;
        throw std::out_of_range("no such pid in the tree");
    }
    void reverse() { std::ranges::reverse(nodes_); }

    std::vector<RoleDecider::Subject> subjects() const {
        std::vector<RoleDecider::Subject> all;
        for (const Node& node : nodes_)
            all.push_back({.id = {node.pid, node.start_ns ? node.start_ns : static_cast<std::uint64_t>(node.pid)},
                           .parent = node.parent,
                           .comm = node.comm,
                           .argv = &node.argv,
                           .rank = node.rank,
                           .forked_without_exec = node.forked,
                           .own_memory = node.own_memory,
                           .gpu_context = node.gpu_context,
                           .gpu_index = node.gpu_index,
                           .exec_count = node.exec_count});
        return all;
    }
    std::map<pid_t, RoleKey> decided_by(RoleDecider& decider) const {
        const auto keys = decider.decide(subjects());
        std::map<pid_t, RoleKey> by_pid;
        for (std::size_t i = 0; i < keys.size(); ++i) by_pid[nodes_[i].pid] = keys[i];
        return by_pid;
    }
    std::map<pid_t, RoleKey> decided() const {
        RoleDecider decider;
        return decided_by(decider);
    }

  private:
    std::deque<Node> nodes_;
};

}  // namespace memscope
