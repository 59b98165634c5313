#pragma once
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "sources/elf/symbol_table.h"
#include "sources/proc/mapped_file.h"

namespace memscope {

// The data of a file that is needed to name addresses in it.
struct ModuleSymbols {
    std::vector<ElfSegment> segments{};
    SymbolTable table{};
    std::optional<std::string> build_id{};
    auto fields() { return std::tie(segments, table, build_id); }
};

// The symbols of the files that were requested last. Thread-safe.
class SymbolCache {
  public:
    struct Limits {
        std::size_t files = 128;
        std::size_t bytes = std::size_t{128} << 20;  // a single file may exceed it
    };
    explicit SymbolCache(Limits limits) : limits_(limits) {}

    std::shared_ptr<const ModuleSymbols> find(const FileIdentity& file);
    // Returns the kept symbols. If a copy of the file is already kept (from another container), that copy's symbols are
    // returned. Equal build-ids do not prove a copy, because a file can contain any build-id.
    std::shared_ptr<const ModuleSymbols> keep(const FileIdentity& file, ModuleSymbols symbols);

    std::size_t files() const;
    std::size_t bytes() const;

  private:
    using Kept = std::shared_ptr<const ModuleSymbols>;
    using Order = std::list<std::pair<FileIdentity, Kept>>;  // most recently used first
    std::shared_ptr<const ModuleSymbols> equal_to(const ModuleSymbols& symbols) const;
    void drop_oldest();
    std::size_t held() const;

    const Limits limits_;
    mutable std::mutex mutex_;
    Order order_{};
    std::map<FileIdentity, Order::iterator> places_{};
};

}  // namespace memscope
