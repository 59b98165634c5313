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
#include "sources/elf/symbol_cache.h"
#include "sources/proc/process_maps.h"

namespace memscope {

// How many files modules hold open at the moment, all together.
using OpenFiles = std::atomic<std::size_t>;

// A file, or other memory, that a process has code in. Thread-safe.
class Module {
  public:
    explicit Module(std::string name) : name_(std::move(name)) {}  // without a file that we could read
    Module(ModuleWanted file, std::shared_ptr<OpenFiles> open_files);
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;
    ~Module();

    const std::string& name() const { return name_; }
    const std::optional<FileIdentity>& identity() const { return identity_; }
    void seen_in(pid_t pid) { pid_ = pid; }  // through whose root the file can be found again

    // Loads them if need be, which takes a while and may wait for a file system. Null: there is no file, or it is not
    // the one any more that was mapped, or it cannot be understood, or they are not loaded yet (Wait::no).
    std::shared_ptr<const ModuleSymbols> symbols(NativeReads& reads, SymbolCache& cache, NativeReads::Wait wait);
    bool failed() const { return failed_; }

  private:
    ModuleWanted wanted() const;
    std::shared_ptr<const ModuleSymbols> find_cached(SymbolCache& cache);
    void let_go();

    const std::string name_;
    const std::optional<FileIdentity> identity_{};
    const std::shared_ptr<OpenFiles> open_files_{};
    std::atomic<pid_t> pid_ = 0;
    std::atomic<bool> failed_ = false;

    std::mutex mutex_;
    ModuleWanted file_{};
    std::optional<FileIdentity> loaded_{};  // the key in the cache
};

class Module;

// What of a process's address space can hold code, and where else there is memory.
class ProcessCode {
  public:
    struct Range {
        MappedRange mapped{};
        std::uint64_t headers = 0;         // where the beginning of its file is mapped; 0: nowhere
        std::shared_ptr<Module> module{};  // once it was asked for
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
    std::vector<Stretch> others_{};  // what lies next to each other is one
};

// An address, in a form that outlives its process.
struct NativeLocation {
    std::shared_ptr<Module> module{};  // null: nothing that could be run is mapped there
    // In the file of the module; from the start of its memory where there is no file; the address where no module is.
    std::uint64_t offset = 0;
    bool is_return = false;  // the call stands before it
};

// Names for the addresses of native call stacks. Thread-safe: locate() on the tick thread, name() on another one.
class NativeSymbols {
  public:
    struct Limits {
        std::size_t open_files = 256;
        std::size_t cached_ranges = 200'000;  // of address spaces, all processes together
        Seconds maps_age{1};                  // an address space is read again after that
        Seconds maps_kept{60};                // and if it cannot be, because the process is gone, forgotten after that
        SymbolCache::Limits symbols{};
    };
    struct Counts {
        std::uint64_t maps_read = 0;
        std::uint64_t maps_truncated = 0;  // address spaces with more ranges than we read
        std::uint64_t failed = 0;          // modules whose file could not be read or is not the mapped one
        std::size_t open_files = 0;
        std::size_t symbol_files = 0;
        std::size_t symbol_bytes = 0;
    };

    // Reads directly: not for a thread that must not be blocked.
    explicit NativeSymbols(SysRoot root) : NativeSymbols(std::move(root), Limits{}) {}
    NativeSymbols(SysRoot root, Limits limits)
        : NativeSymbols(std::make_shared<DirectReads>(std::move(root)), limits) {}
    explicit NativeSymbols(std::shared_ptr<NativeReads> reads) : NativeSymbols(std::move(reads), Limits{}) {}
    NativeSymbols(std::shared_ptr<NativeReads> reads, Limits limits);

    // A call stack of a living process, innermost frame first; as many locations as addresses. Nothing: its address
    // space is being read, ask again. `now` only has to grow steadily.
    std::optional<std::vector<NativeLocation>> locate_when_read(pid_t pid, std::span<const std::uint64_t> addresses,
                                                                Seconds now);
    std::vector<NativeLocation> locate(pid_t pid, std::span<const std::uint64_t> addresses, Seconds now) {
        auto located = locate_when_read(pid, addresses, now);
        return located ? std::move(*located) : locate_as_known(pid, addresses);
    }
    // The same with what is known of its address space, which may be gone.
    std::vector<NativeLocation> locate_as_known(pid_t pid, std::span<const std::uint64_t> addresses);
    // What is known of its address space is not true any more: it runs another program, or is gone.
    void forget(pid_t pid);

    // May read a whole table of symbols; with Wait::no it has that done for a later call. Without symbols for it the
    // frame still has module and offset; where the headers of the file are unreadable, the offset is the place in the
    // file.
    NativeFrame name(const NativeLocation& location, NativeReads::Wait wait = NativeReads::Wait::yes);

    Counts counts() const;

  private:
    struct Process {
        ProcessCode code{};
        Seconds read_at{};
        unsigned rereads = 0;       // since then
        std::uint64_t reading = 0;  // the number of a reading that is under way; 0: none is
    };
    using ModuleKey = std::tuple<unsigned, unsigned, std::uint64_t, std::string>;  // device, inode, path

    // False, or null: not known yet.
    bool read_if_old(pid_t pid, Process& process, bool is_new, Seconds now);
    bool read_code(pid_t pid, Process& process);
    bool read_again_for(pid_t pid, Process& process, std::span<const std::uint64_t> addresses);
    enum class Unknown { wait, leave_out };
    std::optional<std::vector<NativeLocation>> located(pid_t pid, Process& process,
                                                       std::span<const std::uint64_t> addresses, Unknown unknown);
    void make_room(const Process& except, Seconds now);
    std::shared_ptr<Module> module_of(pid_t pid, const ProcessCode::Range& range);
    std::shared_ptr<Module> file_module(pid_t pid, const ProcessCode::Range& range);
    std::shared_ptr<Module> shared_module(ModuleWanted file);
    void sweep_modules();

    const std::shared_ptr<NativeReads> reads_;
    const Limits limits_;
    const std::shared_ptr<OpenFiles> open_files_ = std::make_shared<OpenFiles>(0);
    SymbolCache cache_;
    std::atomic<std::uint64_t> failed_ = 0;

    mutable std::mutex mutex_;
    std::map<pid_t, Process> processes_{};
    std::size_t ranges_ = 0;  // of all of them, or more: it is counted when it seems too many
    Seconds next_sweep_{};
    std::map<ModuleKey, std::weak_ptr<Module>> modules_{};
    std::size_t modules_to_sweep_ = 1024;  // when there are so many, those that nobody has any more go
    std::uint64_t readings_ = 0;
    std::uint64_t maps_read_ = 0;
    std::uint64_t maps_truncated_ = 0;
};

}  // namespace memscope
