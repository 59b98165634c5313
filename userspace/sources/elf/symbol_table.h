#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "sources/elf/elf_file.h"

namespace memscope {

// The functions of one file, by address. What lies in no function has no name: none is made up from the nearest one.
class SymbolTable {
  public:
    static constexpr std::size_t kSymbolLimit = 2'000'000;
    static constexpr std::size_t kNamesLimit = std::size_t{96} << 20;  // bytes, of those we keep
    static constexpr std::size_t kNameLimit = 4096;                    // a longer one is cut off

    // From .symtab and .dynsym together; empty for a file that has neither.
    static Result<SymbolTable> load(const ElfFile& file);

    // The name as it stands in the file of the function that holds this address, as the file's headers count it.
    std::optional<std::string_view> find(std::uint64_t address) const;

    std::size_t size() const { return starts_.size(); }  // of stretches with a name: a function can have several
    std::size_t bytes() const;                           // held in memory
    bool operator==(const SymbolTable&) const = default;

    // To be sent to another process of this program.
    auto fields() { return std::tie(starts_, rests_, names_); }
    bool is_sound() const;  // what was received is what find() relies on

  private:
    // A stretch of code and the place of its name. No two overlap; sorted. Apart, so that a search reads starts only.
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

}  // namespace memscope
