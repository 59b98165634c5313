#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "model/snapshot.h"

namespace memscope {

// A process of the tree as it is drawn: its branches ("│ ├─ ") stand before its name.
struct ProcessRow {
    const Process* process = nullptr;
    std::string branches{};
};
struct ProcessRows {
    std::vector<ProcessRow> rows{};
    std::size_t left_out = 0;
    Bytes left_out_resident{};
    Bytes left_out_held{};
};

// At most `most` processes as a tree: those that hold most and the parents that lead to them, larger subtrees first.
ProcessRows process_rows(const std::vector<Process>& processes, std::size_t most);

Bytes resident(const Process& process);
// What processes and roles are sorted by: the anonymous memory they hold for themselves, and shared memory. Not what
// they share with their parent, or every worker looks as large as its trainer.
Bytes held(const Process& process);
Bytes held(const RoleTotals& role);
// Some of them still share pages with the process they were forked from: worth a column.
bool inherits_pages(const std::vector<Process>& processes);
// What a person recognizes it by: the command without directories, the comm before it where that says more.
std::string title_of(const Process& process);

}  // namespace memscope
