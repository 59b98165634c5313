#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/types.h>
#include <tuple>
#include <vector>

#include "base/fd.h"
#include "base/files.h"
#include "base/result.h"
#include "sources/proc/process_memory.h"
#include <memscope/shared/stacks.h>

namespace memscope {

class ElfFile;

// What a file that processes run has of CPython. Addresses are as the file's own headers count them.
struct PythonElf {
    std::uint64_t runtime = 0;  // _PyRuntime
    std::uint64_t load_address = 0;
    std::optional<std::uint64_t> version_address{};  // Py_Version: 3.11 and later
    std::optional<int> version_text{};               // from "python3.10" somewhere in it; where there is no Py_Version
};

std::optional<PythonElf> find_python_in(const ElfFile& file);  // nothing: no CPython in it

// Most files have no Python, and are asked for again with each process that runs them: the answer is kept while the
// file stays as it is.
class PythonElfCache {
  public:
    static constexpr std::size_t kLimit = 512;

    // The file and what fstat() said of it.
    std::optional<PythonElf> look(const Fd& file, const struct stat& status);
    std::optional<std::optional<PythonElf>> known(const struct stat& status);

  private:
    using Identity = std::tuple<dev_t, ino_t, off_t, std::int64_t, std::int64_t>;  // changed when its time changes
    struct Entry {
        Identity identity;
        std::optional<PythonElf> found;
    };
    static Identity identity_of(const struct stat& status);

    std::list<Entry> entries_{};  // the latest first
    std::map<Identity, std::list<Entry>::iterator> by_identity_{};
};

// The id of the process in its own PID namespace, from /proc/PID/status: what its own getpid() says.
std::optional<pid_t> parse_own_pid(std::string_view status);

// The first thread of the first interpreter; 0 while there is none yet.
Result<std::uint64_t> first_python_thread(const ProcessMemory& memory, const ms_python& layout);

// 3.10 keeps of a thread what pthread_self() said: an address, where the C library has the kernel's thread id
// somewhere. That place, from the thread whose id is known; nothing if no thread of Python is the main one.
std::optional<std::uint16_t> find_pthread_tid(const ProcessMemory& memory, const ms_python& layout,
                                              std::uint64_t first_thread, pid_t main_tid);

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
