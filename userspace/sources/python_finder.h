#pragma once
#include <functional>
#include <optional>
#include <string>
#include <sys/types.h>
#include <tuple>
#include <vector>

#include "base/files.h"
#include "sources/process_memory.h"
#include "sources/python_elf.h"
#include <memscope/shared/stacks.h>

namespace memscope {

struct PythonSearch {
    enum class Outcome {
        found,
        none,        // no CPython is mapped; the loader may still map one in the first moments after an exec
        starting,    // there is one, but it runs no thread yet: ask again soon
        unreadable,  // there is one, and it will never do: `why`
    };
    Outcome outcome = Outcome::none;
    ms_python layout{};  // when found
    std::string why{};   // any bytes; empty when found
    auto fields() { return std::tie(outcome, layout, why); }
};

// Finds the CPython of a process, for the kernel side to walk its frames. Made to be asked often: what files say is
// kept, and a process without Python costs little more than the reading of its maps.
class PythonFinder {
  public:
    using MemoryOf = std::function<ProcessMemory(pid_t)>;
    explicit PythonFinder(SysRoot root = {}, MemoryOf memory_of = ProcessMemory::of)
        : root_(std::move(root)), memory_of_(std::move(memory_of)) {}

    PythonSearch find(pid_t pid);

  private:
    struct Candidate {
        std::vector<fs::path> places{};  // to be opened: the first that is there
        std::uint64_t inode = 0;
        std::uint64_t lowest = 0;  // where it begins in the process
        bool replaced = false;     // its path leads nowhere, or to another file
    };
    std::vector<Candidate> candidates_of(pid_t pid) const;
    std::optional<PythonElf> look(const Candidate& candidate);
    PythonSearch examine(pid_t pid, const PythonElf& elf, std::uint64_t lowest) const;

    SysRoot root_;
    MemoryOf memory_of_;
    PythonElfCache cache_{};
};

}  // namespace memscope
