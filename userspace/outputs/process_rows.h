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
};

// At most `most` processes as a tree: the largest and the parents that lead to them, larger subtrees first.
ProcessRows process_rows(const std::vector<Process>& processes, std::size_t most);

Bytes resident(const Process& process);
// What a person recognizes it by: the command without directories, the comm before it where that says more.
std::string title_of(const Process& process);

}  // namespace memscope
