#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <sys/types.h>
#include <tuple>
#include <vector>

#include "base/files.h"
#include "base/units.h"
#include "model/growth/growth.h"
#include "sources/elf/native_reads.h"
#include "sources/elf/symbol_table.h"
#include "sources/proc/process_maps.h"

namespace memscope {

// The number of files that all modules together hold open now.
using OpenFiles = std::atomic<std::size_t>;

// A file, or other memory, that contains code of a process. Thread-safe.
class Module {
  public:
    explicit Module(std::string name) : name_(std::move(name)) {}  // for code without a readable file
    Module(ModuleWanted file, std::shared_ptr<OpenFiles> open_files);
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;
    ~Module();

    const std::string& name() const { return name_; }
    const std::optional<FileIdentity>& identity() const { return identity_; }
    void seen_in(pid_t pid) { pid_ = pid; }  // the file can be found again through the root of this process

    // Loads the symbols if necessary, which takes a while and may wait for a file system. Null if there is no file, if
    // the file is not the mapped file any more, if it cannot be parsed, if it could not be read this time, or if it is
    // not loaded yet (Wait::no).
    std::shared_ptr<const ModuleSymbols> symbols(NativeReads& reads, SymbolCache& cache, NativeReads::Wait wait);
    bool failed() const { return failed_; }
    bool is_loading() const { return is_loading_; }  // symbols() returned null because the symbols are being loaded

  private:
    ModuleWanted wanted(pid_t pid) const;
    std::shared_ptr<const ModuleSymbols> find_cached(SymbolCache& cache);
    void close_files();

    const std::string name_;
    const std::optional<FileIdentity> identity_{};
    const std::shared_ptr<OpenFiles> open_files_{};
    std::atomic<pid_t> pid_ = 0;
    std::atomic<bool> failed_ = false;
    std::atomic<bool> is_loading_ = false;

    std::mutex mutex_;
    ModuleWanted file_{};
    std::optional<FileIdentity> loaded_{};  // the key in the cache
    pid_t requested_for_ = 0;               // the process in the request that is under way; 0: there is none
};

// The executable ranges of the address space of a process, and its other mapped ranges.
class ProcessCode {
  public:
    struct Range {
        MappedRange mapped{};
        std::uint64_t headers = 0;          // address at which the start of its file is mapped; 0: not mapped
        std::shared_ptr<Module> module{};   // set when the file was found
        std::shared_ptr<Module> unfound{};  // the module for requests that cannot wait until the file is found
    };

    ProcessCode() = default;
    explicit ProcessCode(ProcessMaps maps);

    Range* at(std::uint64_t address);             // executable ranges only
    bool is_mapped(std::uint64_t address) const;  // any
    std::size_t size() const { return code_.size() + others_.size(); }

  private:
    struct Stretch {
        std::uint64_t start = 0;
        std::uint64_t end = 0;
    };
    std::vector<Range> code_{};
    std::vector<Stretch> others_{};  // adjacent ranges are merged
};

// An address in a form that is still valid after its process has exited.
struct NativeLocation {
    std::shared_ptr<Module> module{};  // null: no executable memory is mapped there
    // Offset in the file of the module. Without a file: offset in its memory. Without a module: the address.
    std::uint64_t offset = 0;
    bool is_return = false;  // a return address: the call is the instruction before it
};

// Symbolizes native call stacks. Thread-safe: locate_when_read() and locate_as_known() run on the thread of the ticks,
// name() runs on any thread.
class NativeSymbols {
  public:
    struct Limits {
        std::size_t open_files = 256;
        std::size_t cached_ranges = 200'000;  // ranges of all processes together
        Seconds maps_age{1};                  // an older address space is read again
        Seconds maps_kept{60};                // an address space that no stack has needed for so long is forgotten
        SymbolCache::Limits symbols{};
    };
    struct Counts {
        std::uint64_t maps_read = 0;
        std::uint64_t maps_truncated = 0;  // address spaces with more ranges than the limit
        std::uint64_t failed = 0;          // modules whose file could not be read or is not the mapped file
        std::size_t open_files = 0;
        std::size_t symbol_files = 0;
        std::size_t symbol_bytes = 0;
    };

    explicit NativeSymbols(std::shared_ptr<NativeReads> reads) : NativeSymbols(std::move(reads), Limits{}) {}
    NativeSymbols(std::shared_ptr<NativeReads> reads, Limits limits);

    // Locates a call stack of a running process, innermost frame first. Returns one location per address. If an address
    // is in no known mapping, the process may have mapped a library before `recorded`, the time of the stack. So only
    // an address space that was read after that time is complete. `nullopt`: it must be read, call again later. `now`
    // must be monotonic. An address space is not read again because of callers that may be arbitrary.
    enum class Callers { sure, may_be_arbitrary };
    std::optional<std::vector<NativeLocation>> locate_when_read(pid_t pid, std::span<const std::uint64_t> addresses,
                                                                Seconds recorded, Seconds now,
                                                                Callers callers = Callers::sure);
    // Uses the address space that was read last. Works also after the process has exited.
    std::vector<NativeLocation> locate_as_known(pid_t pid, std::span<const std::uint64_t> addresses);
    // Drops the address space of a process that has executed another program or has exited.
    void forget(pid_t pid);

    // May read a whole symbol table. With Wait::no the table is loaded in the background for a later call. Without
    // symbols the frame still has module and offset. If the headers of the file cannot be read, the offset is the file
    // offset.
    NativeFrame name(const NativeLocation& location, NativeReads::Wait wait = NativeReads::Wait::yes);

    Counts counts() const;

  private:
    struct Process {
        ProcessCode code{};
        Seconds read_at{};          // when the last read was requested
        unsigned rereads = 0;       // reads for unknown addresses since the last read that was made because of age
        std::uint64_t reading = 0;  // number of the read that is under way; 0: none
        bool read_again = false;    // the last read failed, but not because of the process
    };
    using ModuleKey = std::tuple<unsigned, unsigned, std::uint64_t, std::string>;  // device, inode, path

    // These return false or null if the result is not known yet.
    bool read_if_old(pid_t pid, Process& process, bool is_new, Seconds now);
    bool read_code(pid_t pid, Process& process);
    bool read_again_for(pid_t pid, Process& process, std::span<const std::uint64_t> addresses, Seconds recorded,
                        Seconds now);
    enum class Unknown { wait, leave_out };
    std::optional<std::vector<NativeLocation>> located(pid_t pid, Process& process,
                                                       std::span<const std::uint64_t> addresses, Unknown unknown);
    void make_room(const Process& except, Seconds now);
    struct FoundModule {
        std::shared_ptr<Module> module{};  // null: not known yet, or not read
        bool not_read = false;             // the file could not be looked up: the next stack tries again
    };
    FoundModule module_of(pid_t pid, const ProcessCode::Range& range);
    FoundModule file_module(pid_t pid, const ProcessCode::Range& range);
    std::shared_ptr<Module> unfound_module(pid_t pid, ProcessCode::Range& range);
    std::shared_ptr<Module> shared_module(ModuleWanted file);
    void sweep_modules();

    const std::shared_ptr<NativeReads> reads_;
    const Limits limits_;
    const std::shared_ptr<OpenFiles> open_files_ = std::make_shared<OpenFiles>(0);
    SymbolCache cache_;
    std::atomic<std::uint64_t> failed_ = 0;

    mutable std::mutex mutex_;
    std::map<pid_t, Process> processes_{};
    std::size_t ranges_ = 0;  // upper bound of the ranges of all processes; counted exactly when it exceeds the limit
    Seconds next_sweep_{};
    std::map<ModuleKey, std::weak_ptr<Module>> modules_{};
    std::size_t modules_to_sweep_ = 1024;  // number of entries at which expired entries are removed
    std::uint64_t readings_ = 0;
    std::uint64_t maps_read_ = 0;
    std::uint64_t maps_truncated_ = 0;
};

}  // namespace memscope
