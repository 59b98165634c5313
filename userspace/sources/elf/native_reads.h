#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <tuple>

#include "base/files.h"
#include "sources/elf/symbol_cache.h"
#include "sources/proc/mapped_file.h"
#include "sources/proc/process_maps.h"

namespace memscope {

// Where the file of a mapping is.
struct ModulePlace {
    Fd handle{};                             // O_PATH: it was found
    std::optional<FileIdentity> identity{};  // of `handle`
    // Else the root of the process, below which only a lookup that may wait would tell. Neither: it is nowhere.
    Fd root{};
    std::string root_shown_as{};
    // The first page of the file as it is mapped, for when the device proves nothing: btrfs, and overlayfs of old,
    // show another one in maps than in stat. The build-id stands in it.
    std::string first_page{};
    auto fields() { return std::tie(handle, identity, root, root_shown_as, first_page); }
};

// The file of a module whose symbols are wanted.
struct ModuleWanted {
    std::string path{};  // as mapped
    pid_t pid = 0;       // that has it mapped
    ModulePlace place{};
    unsigned dev_major = 0;  // as /proc/PID/maps has it
    unsigned dev_minor = 0;
    std::uint64_t inode = 0;
    std::optional<FileIdentity> identity{};  // when it was found
    std::optional<FileIdentity> loaded{};    // when it was loaded before
    auto fields() { return std::tie(path, pid, place, dev_major, dev_minor, inode, identity, loaded); }
    bool has_device_of(const FileIdentity& found) const {
        return dev_major == found.dev_major && dev_minor == found.dev_minor;
    }
};

struct LoadedModule {
    FileIdentity identity{};
    ModuleSymbols symbols{};
    auto fields() { return std::tie(identity, symbols); }
};

// What naming native code reads of a process. A watched process can block each of these calls.
ModulePlace find_module(const SysRoot& root, pid_t pid, const MappedRange& mapped, std::uint64_t headers);
Result<LoadedModule> load_module(const SysRoot& root, const ModuleWanted& wanted);

// How these reads are done: directly, or by a helper process.
class NativeReads {
  public:
    enum class Wait { no, yes };
    virtual ~NativeReads() = default;
    // Nothing: not known yet, ask again. `number` tells readings of the same process apart.
    virtual std::optional<Result<ProcessMaps>> maps(pid_t pid, std::uint64_t number) = 0;
    virtual std::optional<Result<ModulePlace>> find(pid_t pid, const MappedRange& mapped, std::uint64_t headers) = 0;
    virtual std::optional<Result<LoadedModule>> load(ModuleWanted wanted, Wait wait) = 0;
};

class DirectReads : public NativeReads {
  public:
    explicit DirectReads(SysRoot root) : root_(std::move(root)) {}
    std::optional<Result<ProcessMaps>> maps(pid_t pid, std::uint64_t) override { return read_process_maps(root_, pid); }
    std::optional<Result<ModulePlace>> find(pid_t pid, const MappedRange& mapped, std::uint64_t headers) override {
        return find_module(root_, pid, mapped, headers);
    }
    std::optional<Result<LoadedModule>> load(ModuleWanted wanted, Wait) override { return load_module(root_, wanted); }

  private:
    SysRoot root_;
};

}  // namespace memscope
