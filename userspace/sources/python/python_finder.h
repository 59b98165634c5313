#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <tuple>
#include <vector>

#include "base/fd.h"
#include "base/files.h"
#include "base/result.h"
#include "sources/proc/mapped_file.h"
#include "sources/proc/process_maps.h"
#include "sources/proc/process_memory.h"
#include <memscope/shared/stacks.h>

namespace memscope {

class ElfFile;

// What memscope knows about CPython in an executable or a library. Addresses are in the numbering of the file's
// headers.
struct PythonElf {
    std::uint64_t runtime = 0;  // _PyRuntime
    std::uint64_t load_address = 0;
    std::optional<std::uint64_t> version_address{};  // Py_Version: 3.11 and later
    std::optional<int> version_text{};               // from a text "python3.10" in the file, if it has no Py_Version
};

std::optional<PythonElf> find_python_in(const ElfFile& file);  // none: the file contains no CPython

// Remembers the result for each file until the file changes, because most files have no Python and are checked again
// for each process that executes them.
class PythonElfCache {
  public:
    static constexpr std::size_t kLimit = 512;

    // `identity`: of the file. It differs as soon as the file's times change.
    std::optional<PythonElf> find(const Fd& file, const FileIdentity& identity);
    std::optional<std::optional<PythonElf>> known(const FileIdentity& identity);

  private:
    struct Entry {
        FileIdentity identity;
        std::optional<PythonElf> found;
    };

    std::list<Entry> entries_{};  // most recently used first
    std::map<FileIdentity, std::list<Entry>::iterator> by_identity_{};
};

// The pid of the process in its own PID namespace, as its getpid() returns it, from /proc/PID/status.
std::optional<pid_t> parse_own_pid(std::string_view status);

// The first thread of the first interpreter; 0 if there is none yet.
Result<std::uint64_t> first_python_thread(const ProcessMemory& memory, const ms_python& layout);

// 3.10 stores the result of pthread_self() for each thread. This is an address at which the C library keeps the
// kernel's thread id at some offset. Finds that offset with the main thread, whose id is known. None if no Python
// thread is the main thread.
std::optional<std::uint16_t> find_pthread_tid(const ProcessMemory& memory, const ms_python& layout,
                                              std::uint64_t first_thread, pid_t main_tid);

struct PythonSearch {
    enum class Outcome {
        found,
        none,        // no CPython is mapped; shortly after an exec, the loader may still map it
        starting,    // CPython is mapped but has no thread yet: call again soon
        unreadable,  // CPython is mapped but cannot be read, for the reason in `why`
    };
    Outcome outcome = Outcome::none;
    ms_python layout{};  // set if found
    std::string why{};   // any bytes; empty if found
    auto fields() { return std::tie(outcome, layout, why); }
};

// Finds the CPython of a process, so that the BPF program can walk its frames. It is cheap to call often: the results
// for files are cached, and a process without Python costs little more than reading its maps.
class PythonFinder {
  public:
    using MemoryOf = std::function<ProcessMemory(pid_t)>;
    explicit PythonFinder(SysRoot root = {}, MemoryOf memory_of = ProcessMemory::of)
        : root_(std::move(root)), memory_of_(std::move(memory_of)) {}

    PythonSearch find(pid_t pid);

  private:
    struct Candidate {
        MappedRange mapping{};  // of the start of the file
        bool is_executable = false;
    };
    std::vector<Candidate> candidates_of(pid_t pid) const;
    std::optional<PythonElf> read_elf(pid_t pid, const Candidate& candidate);
    PythonSearch examine(pid_t pid, const PythonElf& elf, std::uint64_t lowest) const;

    SysRoot root_;
    MemoryOf memory_of_;
    PythonElfCache cache_{};
};

}  // namespace memscope
