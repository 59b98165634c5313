#include "outputs/text/process_rows.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "outputs/text/text_layout.h"

namespace memscope {
namespace {

constexpr Bytes kWorthAColumn{1ULL << 20};
constexpr std::size_t kDeepest = 6;  // deeper branches are drawn at this depth, so that there is room for the name

class Ancestry {
  public:
    explicit Ancestry(const std::vector<Process>& processes) {
        for (const Process& process : processes) by_pid_[process.task.id.pid] = &process;
    }

    const Process* parent_of(const Process& process) const {
        const auto found = by_pid_.find(process.task.parent);
        return found == by_pid_.end() || found->second == &process ? nullptr : found->second;
    }

    // The process and its ancestors. Samples are not taken at one instant, so parents could form a ring.
    std::vector<const Process*> line_of(const Process& process) const {
        std::vector<const Process*> line;
        for (const Process* p = &process; p && std::ranges::find(line, p) == line.end(); p = parent_of(*p))
            line.push_back(p);
        return line;
    }

  private:
    std::map<pid_t, const Process*> by_pid_{};
};

struct Drawing {
    std::map<const Process*, std::vector<const Process*>> children{};  // of nullptr: the roots
    std::set<const Process*> drawn{};
    std::vector<ProcessRow> rows{};

    void draw(const Process* process, const std::string& before, bool last, std::size_t depth) {
        if (!drawn.insert(process).second) return;
        const bool branch = depth > 0 && depth <= kDeepest;
        rows.push_back({process, branch ? before + (last ? "└─ " : "├─ ") : before});
        const std::string below = branch ? before + (last ? "   " : "│  ") : before;
        const auto found = children.find(process);
        if (found == children.end()) return;
        const auto& mine = found->second;
        for (const Process* child : mine) draw(child, below, child == mine.back(), depth + 1);
    }
};

}  // namespace

Bytes resident(const Process& process) {
    const auto& memory = process.task.memory;
    return memory ? memory->anon + memory->file + memory->shmem : Bytes{};
}

Bytes held(const Process& process) {
    return process.task.memory ? process.own_anon() + process.task.memory->shmem : Bytes{};
}

bool inherits_pages(const std::vector<Process>& processes) {
    return std::ranges::any_of(processes, [](const Process& process) { return process.inherited >= kWorthAColumn; });
}

Bytes held(const RoleTotals& role) { return role.own_anon() + role.shmem; }

std::string title_of(const Process& process) {
    const std::string comm = printable(process.task.comm);
    const std::string_view command = process.command_text();
    if (command.empty()) return "[" + comm + "]";
    const auto space = command.find(' ');
    const std::string_view program = command.substr(0, space);
    const auto slash = program.rfind('/');
    const std::string title = printable(command.substr(slash == std::string_view::npos ? 0 : slash + 1));
    return title.starts_with(comm) ? title : comm + ": " + title;
}

ProcessRows process_rows(const std::vector<Process>& processes, std::size_t most) {
    const Ancestry ancestry(processes);
    std::vector<const Process*> largest;
    largest.reserve(processes.size());
    for (const Process& process : processes) largest.push_back(&process);
    std::ranges::stable_sort(largest, [](auto* a, auto* b) { return held(*a) > held(*b); });

    std::set<const Process*> chosen;
    std::map<const Process*, Bytes> subtree;
    for (const Process* process : largest) {
        const auto line = ancestry.line_of(*process);
        const auto missing =
            static_cast<std::size_t>(std::ranges::count_if(line, [&](auto* p) { return !chosen.contains(p); }));
        if (chosen.size() + missing <= most) chosen.insert(line.begin(), line.end());
        for (const Process* p : line) subtree[p] += held(*process);
    }

    Drawing drawing;
    for (const Process* process : largest)
        if (chosen.contains(process)) drawing.children[ancestry.parent_of(*process)].push_back(process);
    for (auto& [parent, children] : drawing.children)
        std::ranges::stable_sort(children, [&](auto* a, auto* b) { return subtree[a] > subtree[b]; });
    for (const Process* root : drawing.children[nullptr]) drawing.draw(root, "", true, 0);
    for (const Process* process : largest)  // members of a ring have no root above them
        if (chosen.contains(process)) drawing.draw(process, "", true, 0);

    ProcessRows result{.rows = std::move(drawing.rows)};
    for (const Process& process : processes)
        if (!chosen.contains(&process)) {
            ++result.left_out;
            result.left_out_resident += resident(process);
            result.left_out_held += held(process);
        }
    return result;
}

}  // namespace memscope
