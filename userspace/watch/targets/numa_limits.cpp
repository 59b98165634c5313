#include "watch/targets/numa_limits.h"

#include <set>
#include <utility>

namespace memscope {
namespace {

// Two small files are read for each process, which costs about 40 us. At most this many processes are read in a tick.
// Each process is read again after some time, because cpusets and policies can be changed.
constexpr std::size_t kReadsPerTick = 100;
constexpr std::uint64_t kReadAgainNs = 10'000'000'000;
constexpr std::size_t kMostSets = 8;  // of nodes, for one target

}  // namespace

NumaLimits::NumaLimits(const SysRoot& root, ReadNodes read_nodes)
    : root_(root), read_nodes_(std::move(read_nodes)), memory_nodes_(read_memory_nodes(root)) {}

void NumaLimits::begin_tick(std::uint64_t now_boot_ns) {
    if (memory_nodes_.size() < 2) return;
    std::erase_if(known_, [this](const auto& entry) { return entry.second.seen != tick_; });
    ++tick_;
    now_ns_ = now_boot_ns;
    reads_left_ = kReadsPerTick;
    read_.clear();
}

const NodeSet& NumaLimits::nodes_of(const ProcessId& process) {
    Known& known = known_[process];
    known.seen = tick_;
    const bool due = known.read_ns == 0 || now_ns_ - known.read_ns >= kReadAgainNs;
    if (!due) return known.nodes;
    if (known.asked_ns == 0) {
        if (reads_left_ == 0) return known.nodes;
        --reads_left_;
        known.asked_ns = now_ns_;
    }
    if (auto nodes = read_nodes_(process.pid, known.asked_ns, memory_nodes_)) {
        known.nodes = *nodes == memory_nodes_ ? NodeSet{} : *std::move(nodes);
        known.read_ns = now_ns_;
        known.asked_ns = 0;
    }
    return known.nodes;
}

const NodeMemory* NumaLimits::memory_of(int node) {
    if (const auto known = read_.find(node); known != read_.end()) return &known->second;
    const auto memory = read_node_memory(root_, node);
    return memory ? &read_.emplace(node, *memory).first->second : nullptr;
}

void NumaLimits::add(const std::vector<Process>& processes, const HostMemory& host, MemoryState& memory) {
    if (memory_nodes_.size() < 2) return;
    std::set<NodeSet> sets;
    for (const Process& process : processes)
        if (const NodeSet& nodes = nodes_of(process.task.id); !nodes.empty() && sets.size() < kMostSets)
            sets.insert(nodes);
    for (const NodeSet& nodes : sets) {
        NodeMemory sum;
        bool complete = true;
        for (const int node : nodes) {
            const NodeMemory* one = memory_of(node);
            complete = complete && one;
            if (!one) continue;
            sum.total += one->total;
            sum.available += one->available;
        }
        if (complete) memory.candidates.push_back(numa_candidate(nodes, sum, host, host.swap_total.n > 0));
    }
    if (!sets.empty()) memory.effective = nearest_limit(memory.candidates);
}

}  // namespace memscope
