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

namespace {

bool is_interpreter(std::string_view program) {
    return program.starts_with("python") || program == "sh" || program == "bash" || program == "dash";
}

std::string_view base_name(std::string_view path) {
    const auto slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// Arguments are joined by spaces, and the path of a program can contain spaces, too. The path then ends with the name
// of the process or of an interpreter.
std::size_t end_of_program(std::string_view command, std::string_view comm) {
    const auto ends_at = [&](std::string_view name) -> std::optional<std::size_t> {
        for (auto slash = command.find('/'); slash != std::string_view::npos; slash = command.find('/', slash + 1)) {
            const std::string_view rest = command.substr(slash + 1);
            if (!rest.starts_with(name)) continue;
            const std::string_view after =
                rest.substr(std::min(rest.find_first_not_of("0123456789.", name.size()), rest.size()));
            if (after.empty() || after.front() == ' ') return command.size() - after.size();
        }
        return std::nullopt;
    };
    const std::size_t space = std::min(command.find(' '), command.size());
    if (!command.starts_with('/') || is_interpreter(base_name(command.substr(0, space)))) return space;
    for (const std::string_view name : {comm, std::string_view("python")})
        if (const auto end = name.empty() ? std::nullopt : ends_at(name); end && *end > space) return *end;
    return space;
}

struct Titled {
    std::string program{};  // without directories
    std::string options{};  // of the interpreter, with a space before each
    std::string script{};   // with its arguments; empty: the program is not an interpreter with a script
    std::string rest{};     // the arguments of another program, with a space before them
};

Titled parts_of(const Process& process) {
    const std::string_view command = process.command_text();
    const std::size_t program = end_of_program(command, process.task.comm);
    Titled parts{.program = std::string(base_name(command.substr(0, program)))};
    std::string_view rest = command.substr(std::min(program, command.size()));
    if (!is_interpreter(parts.program)) {
        parts.rest = rest;
        return parts;
    }
    while (rest.starts_with(' ')) {
        const std::string_view word = rest.substr(1, rest.find(' ', 1) - 1);
        if (word.starts_with('-') && word != "-c" && word != "-m") {
            const bool with_value = word == "-X" || word == "-W";  // of Python
            const std::size_t end =
                with_value ? std::min(rest.find(' ', 2 + word.size()), rest.size()) : 1 + word.size();
            parts.options += rest.substr(0, end);
            rest.remove_prefix(end);
            continue;
        }
        if (word.starts_with('-') || word.empty()) break;  // a module or a program text
        parts.script = std::string(base_name(word)) + std::string(rest.substr(1 + word.size()));
        return parts;
    }
    parts.rest = parts.options + std::string(rest);
    parts.options.clear();
    return parts;
}

}  // namespace

std::string title_of(const Process& process) {
    const std::string comm = printable(process.task.comm);
    if (process.command_text().empty()) return "[" + comm + "]";
    const Titled parts = parts_of(process);
    // A script that is started by its name has this name itself: "launch.sh", not "launch.sh: sh ./launch.sh".
    if (!parts.script.empty() && printable(parts.script).starts_with(comm)) return printable(parts.script);
    const std::string title =
        printable(parts.program + parts.options + (parts.script.empty() ? parts.rest : " " + parts.script));
    return title.starts_with(comm) ? title : comm + ": " + title;
}

std::string title_of(const Process& process, std::size_t width) {
    std::string title = title_of(process);
    if (display_width(title) <= width || process.command_text().empty()) return title;
    const Titled parts = parts_of(process);
    if (parts.script.empty()) return title;
    const std::string comm = printable(process.task.comm);
    const std::string script = printable(parts.script);
    return is_interpreter(comm) || script.starts_with(comm) ? script : comm + ": " + script;
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
