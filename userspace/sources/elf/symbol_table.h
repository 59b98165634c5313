#pragma once
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "sources/elf/elf_file.h"
#include "sources/proc/mapped_file.h"

namespace memscope {

// The functions of one file by address. An address outside all functions has no name; the nearest function is not used.
class SymbolTable {
  public:
    static constexpr std::size_t kSymbolLimit = 2'000'000;
    static constexpr std::size_t kNamesLimit = std::size_t{96} << 20;  // bytes of all names together
    static constexpr std::size_t kNameLimit = 4096;                    // a longer name is cut off

    // Reads .symtab and .dynsym; empty if the file has neither.
    static Result<SymbolTable> load(const ElfFile& file);

    // Mangled name of the function that contains this address (in the numbering of the file's headers).
    std::optional<std::string_view> find(std::uint64_t address) const;

    std::size_t size() const { return starts_.size(); }  // number of named ranges; a function can have several
    std::size_t bytes() const;                           // held in memory
    bool operator==(const SymbolTable&) const = default;

    // For the transfer between two processes of memscope.
    auto fields() { return std::tie(starts_, rests_, names_); }
    bool is_sound() const;  // true if a received table has the order and bounds that find() needs

  private:
    // Address ranges with the position of their names, sorted and without overlap. The starts are stored separately, so
    // that a search reads only them.
    std::vector<std::uint64_t> starts_{};
    struct Rest {
        std::uint32_t size = 0;
        std::uint32_t name = 0;
        bool operator==(const Rest&) const = default;
    };
    std::vector<Rest> rests_{};
    std::string names_{};  // each ends with a NUL

    friend class SymbolTableBuilder;
};

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
