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

// What is needed of a file to name addresses in it.
struct ModuleSymbols {
    std::vector<ElfSegment> segments{};
    SymbolTable table{};
    std::optional<std::string> build_id{};
    auto fields() { return std::tie(segments, table, build_id); }
};

// The symbols of the files that were asked for last. Thread-safe.
class SymbolCache {
  public:
    struct Limits {
        std::size_t files = 128;
        std::size_t bytes = std::size_t{128} << 20;  // one file alone may have more
    };
    explicit SymbolCache(Limits limits) : limits_(limits) {}

    std::shared_ptr<const ModuleSymbols> find(const FileIdentity& file);
    // Returns what is kept: for a copy of a file that is there already (another container's) that of the other one.
    // Equal build-ids do not suffice for that: anybody can write any build-id into a file.
    std::shared_ptr<const ModuleSymbols> keep(const FileIdentity& file, ModuleSymbols symbols);

    std::size_t files() const;
    std::size_t bytes() const;

  private:
    using Kept = std::shared_ptr<const ModuleSymbols>;
    using Order = std::list<std::pair<FileIdentity, Kept>>;  // used last comes first
    std::shared_ptr<const ModuleSymbols> equal_to(const ModuleSymbols& symbols) const;
    void drop_oldest();
    std::size_t held() const;

    const Limits limits_;
    mutable std::mutex mutex_;
    Order order_{};
    std::map<FileIdentity, Order::iterator> places_{};
};

}  // namespace memscope
