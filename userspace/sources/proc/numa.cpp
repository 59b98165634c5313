#include "sources/proc/numa.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

#include "base/text.h"

namespace memscope {
namespace {

constexpr std::uint64_t kMostNodes = 1024;  // the largest MAX_NUMNODES that a kernel can be built with

fs::path node_directory(const SysRoot& root) { return root.sys / "devices/system/node"; }

// Pages in the pools of huge pages are neither free nor on any list. Only a process that asks for huge pages gets them.
Bytes hugetlb_of(const fs::path& node) {
    constexpr std::string_view kPrefix = "hugepages-", kSuffix = "kB";
    Bytes sum;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(node / "hugepages", ignored)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) continue;
        const auto size =
            parse_number(std::string_view(name).substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size()));
        const auto text = read_file(entry.path() / "nr_hugepages", 64);
        const auto count = text ? parse_number(trimmed(*text)) : std::nullopt;
        if (size && count) sum += Bytes{*size * 1024 * *count};
    }
    return sum;
}

}  // namespace

std::optional<NodeSet> parse_node_list(std::string_view text) {
    NodeSet nodes;
    text = trimmed(text);
    if (text.empty()) return nodes;
    for (const std::string_view part : split(text, ',')) {
        const auto dash = part.find('-');
        const auto first = parse_number(part.substr(0, dash));
        const auto last = dash == std::string_view::npos ? first : parse_number(part.substr(dash + 1));
        if (!first || !last || *first > *last || *last >= kMostNodes) return std::nullopt;
        for (std::uint64_t node = *first; node <= *last; ++node) nodes.insert(static_cast<int>(node));
    }
    return nodes;
}

std::string node_list_text(const NodeSet& nodes) {
    std::string text;
    for (auto at = nodes.begin(); at != nodes.end();) {
        const int first = *at;
        int last = first;
        for (++at; at != nodes.end() && *at == last + 1; ++at) last = *at;
        text += fmt::format("{}{}", text.empty() ? "" : ",", first);
        if (last > first) text += fmt::format("-{}", last);
    }
    return text;
}

NodeSet read_memory_nodes(const SysRoot& root) {
    const auto text = read_file(node_directory(root) / "has_memory", 4096);
    return text ? parse_node_list(*text).value_or(NodeSet{}) : NodeSet{};
}

Result<NodeMemory> parse_node_meminfo(std::string_view text) {
    std::optional<Bytes> total, free;
    Bytes reclaimable;
    for_each_line(text, [&](std::string_view line) {  // "Node 0 MemFree:        12172716 kB"
        const auto colon = line.find(':');
        if (colon == std::string_view::npos || !line.ends_with(" kB")) return;
        const std::string_view key = line.substr(0, colon).substr(line.substr(0, colon).rfind(' ') + 1);
        const auto number = parse_number(trimmed(line.substr(colon + 1, line.size() - colon - 4)));
        if (!number) return;
        const Bytes bytes{*number * 1024};
        if (key == "MemTotal") total = bytes;
        if (key == "MemFree") free = bytes;
        if (key == "Active(file)" || key == "Inactive(file)" || key == "SReclaimable") reclaimable += bytes;
    });
    if (!total || !free)
        return Error{
            std::make_error_code(std::errc::bad_message), "meminfo of a NUMA node lacks MemTotal or MemFree", {}};
    return NodeMemory{.total = *total, .available = std::min(*total, *free + reclaimable)};
}

Result<NodeMemory> read_node_memory(const SysRoot& root, int node) {
    const fs::path directory = node_directory(root) / fmt::format("node{}", node);
    const auto text = read_file(directory / "meminfo");
    if (!text) return text.error();
    auto memory = parse_node_meminfo(*text);
    if (memory) memory->total = memory->total - hugetlb_of(directory);
    return memory;
}

std::optional<NodeSet> parse_allowed_nodes(std::string_view status) {
    std::optional<NodeSet> nodes;
    for_each_line(status, [&](std::string_view line) {
        constexpr std::string_view kKey = "Mems_allowed_list:";
        if (line.starts_with(kKey)) nodes = parse_node_list(line.substr(kKey.size()));
    });
    return nodes;
}

// "7f0000000000 bind:0-1 file=/usr/bin/python3 ...", "... bind=static:0 ...", "... default ..."
std::optional<NodeSet> parse_bound_nodes(std::string_view numa_maps) {
    const auto fields = split(numa_maps.substr(0, numa_maps.find('\n')), ' ');
    if (fields.size() < 2 || !fields[1].starts_with("bind")) return std::nullopt;
    const auto colon = fields[1].find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    auto nodes = parse_node_list(fields[1].substr(colon + 1));
    return nodes && !nodes->empty() ? nodes : std::nullopt;
}

std::optional<NodeSet> read_process_nodes(const SysRoot& root, pid_t pid, const NodeSet& memory_nodes) {
    const fs::path directory = root.proc / std::to_string(pid);
    const auto status = read_file(directory / "status", 16384);
    const auto allowed = status ? parse_allowed_nodes(*status) : std::nullopt;
    if (!allowed) return std::nullopt;
    NodeSet nodes;
    std::ranges::set_intersection(*allowed, memory_nodes, std::inserter(nodes, nodes.end()));
    // The kernel walks the pages of each mapping that it prints, so only the first line is read.
    constexpr std::size_t kFirstLine = 128;
    const auto maps = read_file(directory / "numa_maps", kFirstLine);
    if (const auto bound = maps ? parse_bound_nodes(*maps) : std::nullopt)
        std::erase_if(nodes, [&](int node) { return !bound->contains(node); });
    return nodes;
}

LimitCandidate numa_candidate(const NodeSet& nodes, const NodeMemory& sum, const HostMemory& host, bool swap_counts) {
    Bytes limit = sum.total, free = sum.available;
    if (swap_counts) {
        limit += host.swap_total;
        free += host.swap_free;
    }
    return {fmt::format("numa node{} {}", nodes.size() == 1 ? "" : "s", node_list_text(nodes)), limit, limit - free};
}

}  // namespace memscope
