#pragma once
#include <cstddef>
#include <cstdint>
#include <elf.h>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace memscope {

struct ElfSymbol {
    std::uint64_t value = 0;  // an address, as the file's own headers count it
    std::uint64_t size = 0;
};

struct ElfSection {
    std::string name{};
    std::uint64_t address = 0;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;   // in memory
    std::uint32_t type = 0;   // SHT_...
    std::uint64_t flags = 0;  // SHF_...
    std::uint32_t link = 0;   // index of the section with the names, for a table of symbols
    // Bytes it has in the file, all of them inside it when it was opened: none for SHT_NOBITS.
    std::uint64_t file_size() const { return type == SHT_NOBITS ? 0 : size; }
};

struct ElfSegment {  // PT_LOAD
    std::uint64_t offset = 0;
    std::uint64_t address = 0;
    std::uint64_t file_size = 0;
    std::uint64_t memory_size = 0;
    bool executable = false;
    bool operator==(const ElfSegment&) const = default;
};

// The address of a byte of the file that is mapped to be run, or not; nothing if no segment loads it.
std::optional<std::uint64_t> address_in(std::span<const ElfSegment> segments, std::uint64_t offset, bool executable);

// A 64-bit little-endian ELF file that somebody else wrote and may be writing still. It is read piece by piece and
// never mapped: a file that shrinks under a mapping would kill us.
class ElfFile {
  public:
    static constexpr std::uint64_t kTableLimit = std::uint64_t{256} << 20;  // of one section that is searched

    static Result<ElfFile> open(const Fd& file);  // keeps a descriptor of its own

    std::span<const ElfSegment> segments() const { return segments_; }
    std::span<const ElfSection> sections() const { return sections_; }  // none where their headers are damaged
    std::optional<ElfSection> section(std::string_view name) const;
    // Where the file begins in memory before it is moved: the lowest PT_LOAD, down to a page. An address in a process
    // is one of the file, minus this, plus the start of its lowest mapping.
    std::uint64_t load_address() const;
    std::optional<std::string> build_id() const;  // hex digits

    // Defined ones only; .dynsym goes before .symtab. One pass for all names: as many answers as names.
    std::optional<ElfSymbol> find_symbol(std::string_view name) const;
    std::vector<std::optional<ElfSymbol>> find_symbols(std::span<const std::string_view> names) const;

    // Calls visit(text) for each place where `marker` stands: from there to the next NUL, at most `most` bytes.
    // Ends when it returns false, or after kTableLimit bytes of the section.
    void for_each_text(const ElfSection& section, std::string_view marker, std::size_t most,
                       const std::function<bool(std::string_view)>& visit) const;
    std::optional<std::string> find_text(const ElfSection& section, std::string_view marker, std::size_t most) const;

    // Calls visit(symbol) for each entry, until it returns false. False if the table could not be read to its end.
    bool for_each_symbol(const ElfSection& table, const std::function<bool(const Elf64_Sym&)>& visit) const;

    // At most `most` bytes; fewer where section or file end, or where the file cannot be read.
    std::string read(const ElfSection& section, std::uint64_t from, std::size_t most) const;
    std::string read(std::uint64_t offset, std::size_t most) const;

  private:
    ElfFile() = default;
    bool holds(std::uint64_t offset, std::uint64_t size) const { return offset <= size_ && size <= size_ - offset; }
    template <class T>
    std::optional<T> read_as(std::uint64_t offset) const;
    Status read_segments(const Elf64_Ehdr& header);
    void read_sections(const Elf64_Ehdr& header);
    void name_sections(const std::vector<std::uint32_t>& names, std::size_t names_index);
    void find_in(const ElfSection& table, std::span<const std::string_view> names,
                 std::vector<std::optional<ElfSymbol>>& found) const;

    Fd file_;
    std::uint64_t size_ = 0;
    std::vector<ElfSegment> segments_{};
    std::vector<ElfSegment> notes_{};  // PT_NOTE
    std::vector<ElfSection> sections_{};
};

}  // namespace memscope
