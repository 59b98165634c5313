#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <sys/types.h>

#include "sources/native_reads.h"
#include "sources/symbol_cache.h"

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

}  // namespace memscope
