#pragma once
#include <memory>
#include <optional>
#include <utility>

#include "sources/elf/native_symbols.h"

namespace memscope {

// Reads in the calling process. The program reads in helper processes, because a watched process can block a read.
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

class DirectSymbols : public NativeSymbols {
  public:
    explicit DirectSymbols(SysRoot root, Limits limits = {})
        : NativeSymbols(std::make_shared<DirectReads>(std::move(root)), limits) {}
};

}  // namespace memscope
