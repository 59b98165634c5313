#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <tuple>

#include "base/files.h"
#include "sources/elf/symbol_table.h"
#include "sources/proc/mapped_file.h"
#include "sources/proc/process_maps.h"

namespace memscope {

// Location of the file of a mapping.
struct ModulePlace {
    Fd handle{};                             // O_PATH, if the file was found
    std::optional<FileIdentity> identity{};  // of `handle`
    // Otherwise the root of the process, if a lookup that may block is needed to find the file below it. If both are
    // empty, the file does not exist.
    Fd root{};
    std::string root_shown_as{};
    // The first page of the mapped file. It contains the build-id. It is used if the device number cannot identify the
    // file: btrfs and old versions of overlayfs show different device numbers in maps and in stat.
    std::string first_page{};
    auto fields() { return std::tie(handle, identity, root, root_shown_as, first_page); }
};

// A module whose symbols are requested.
struct ModuleWanted {
    std::string path{};  // as mapped
    pid_t pid = 0;       // a process that maps it
    ModulePlace place{};
    unsigned dev_major = 0;  // as in /proc/PID/maps
    unsigned dev_minor = 0;
    std::uint64_t inode = 0;
    std::optional<FileIdentity> identity{};  // identity when the file was found
    std::optional<FileIdentity> loaded{};    // identity when its symbols were loaded before
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

// The reads that symbolization needs. A watched process can block each of these calls.
ModulePlace find_module(const SysRoot& root, pid_t pid, const MappedRange& mapped, std::uint64_t headers);
Result<LoadedModule> load_module(const SysRoot& root, const ModuleWanted& wanted);

// Does these reads in a helper process, or directly (in tests).
class NativeReads {
  public:
    // `no`, for the thread of the ticks: returns only what a helper has read already. `yes` and `some`, for any thread:
    // wait for the helper. With `some` the caller symbolizes only its largest sites, because loading the symbols of a
    // large library takes seconds.
    enum class Wait { no, some, yes };
    virtual ~NativeReads() = default;
    // `nullopt`: not known yet, call again later. `number` distinguishes reads of the same process.
    virtual std::optional<Result<ProcessMaps>> maps(pid_t pid, std::uint64_t number) = 0;
    virtual std::optional<Result<ModulePlace>> find(pid_t pid, const MappedRange& mapped, std::uint64_t headers) = 0;
    virtual std::optional<Result<LoadedModule>> load(ModuleWanted wanted, Wait wait) = 0;
};

}  // namespace memscope
