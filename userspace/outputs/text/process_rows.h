#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "model/snapshot.h"

namespace memscope {

// One row of the drawn process tree: the branches ("│ ├─ ") come before the name.
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

// At most `most` processes as a tree: those that hold most memory and their ancestors, larger subtrees first.
ProcessRows process_rows(const std::vector<Process>& processes, std::size_t most);

Bytes resident(const Process& process);
// Sort key of processes and roles: own memory plus shared memory. Inherited pages do not count, because with them every
// worker would be as large as its trainer.
Bytes held(const Process& process);
Bytes held(const RoleTotals& role);
// True if a process has enough inherited pages to show them in a column.
bool inherits_pages(const std::vector<Process>& processes);
// A title that a user recognizes: the command without directories, and the comm before it if the two differ.
std::string title_of(const Process& process);
// The title for a column of `width`. If title_of(process) does not fit, the title names the script without its
// interpreter. It can still be too long: the caller cuts it.
std::string title_of(const Process& process, std::size_t width);

}  // namespace memscope
