#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <sys/types.h>

#include "base/files.h"
#include "sources/mapped_file.h"
#include "sources/symbol_cache.h"

namespace memscope {

// How many files modules hold open at the moment, all together.
using OpenFiles = std::atomic<std::size_t>;

// Where the file of a module is to be found, when its symbols are wanted.
struct ModuleFile {
    Fd handle{};                                // to the file itself, if it was found
    std::shared_ptr<const ProcessRoot> root{};  // else to the root of the process, where it has not been looked for yet
    std::optional<FileIdentity> identity{};     // of `handle`
    unsigned dev_major = 0;                     // as /proc/PID/maps has it
    unsigned dev_minor = 0;
    std::uint64_t inode = 0;
    bool has_device_of(const FileIdentity& found) const;
    // The first page of the file as it is mapped, for when the device proves nothing: btrfs, and overlayfs of old,
    // show another one in maps than in stat. The build-id stands in it.
    std::string first_page{};
};

// A file, or other memory, that a process has code in. Thread-safe.
class Module {
  public:
    explicit Module(std::string name) : name_(std::move(name)) {}  // without a file that we could read
    Module(std::string name, ModuleFile file, pid_t pid, std::shared_ptr<OpenFiles> open_files);
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;
    ~Module();

    const std::string& name() const { return name_; }
    const std::optional<FileIdentity>& identity() const { return identity_; }
    void seen_in(pid_t pid) { pid_ = pid; }  // through whose root the file can be found again

    // Loads them if need be, which takes a while and may wait for a file system. Null: there is no file, or it is not
    // the one any more that was mapped, or it cannot be understood.
    std::shared_ptr<const ModuleSymbols> symbols(const SysRoot& root, SymbolCache& cache);
    bool failed() const { return failed_; }

  private:
    Fd look_up(const SysRoot& root) const;
    bool is_mapped_one(const FileIdentity& found, const ElfFile& file) const;
    std::shared_ptr<const ModuleSymbols> load(const SysRoot& root, SymbolCache& cache);
    void let_go();

    const std::string name_;
    const std::optional<FileIdentity> identity_{};
    const std::shared_ptr<OpenFiles> open_files_{};
    std::atomic<pid_t> pid_ = 0;
    std::atomic<bool> failed_ = false;

    std::mutex mutex_;
    ModuleFile file_{};
    std::optional<FileIdentity> loaded_{};  // the key in the cache
};

}  // namespace memscope
