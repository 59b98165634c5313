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
    std::uint64_t value = 0;  // address in the numbering of the file's headers
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
    // Bytes of the section in the file; 0 for SHT_NOBITS. They were within the file when it was opened.
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

// Address at which a byte of the file is loaded, preferably by a segment with this executable flag. None if no segment
// loads it.
std::optional<std::uint64_t> address_in(std::span<const ElfSegment> segments, std::uint64_t offset, bool executable);
// File offset of a loaded address. None if no segment contains it, or if its executable flag differs from `executable`.
std::optional<std::uint64_t> offset_in(std::span<const ElfSegment> segments, std::uint64_t address, bool executable);

// A 64-bit little-endian ELF file, which is untrusted and may be written to during the read. It is read in pieces and
// never mapped, because a read beyond the end of a mapped file that shrinks would kill us with SIGBUS.
class ElfFile {
  public:
    static constexpr std::uint64_t kTableLimit = std::uint64_t{256} << 20;  // bytes of a symbol table
    // Bytes of a symbol table, and of its string table, in which names are searched. The string table is held in memory
    // meanwhile. The exported names of the files that memscope searches are small: 19 kB in libcuda 580, 45 kB in
    // CPython 3.14. The largest that we know of, libtorch_cpu.so of PyTorch 2, has 5.6 MB.
    static constexpr std::uint64_t kSearchLimit = std::uint64_t{16} << 20;
    // Bytes of a section in which text is searched. The .rodata of CPython has 2 MB; that of a program that contains
    // CPython may be far larger.
    static constexpr std::uint64_t kTextLimit = std::uint64_t{64} << 20;

    static Result<ElfFile> open(const Fd& file);  // duplicates the descriptor

    std::span<const ElfSegment> segments() const { return segments_; }
    std::span<const ElfSection> sections() const { return sections_; }  // empty if the section headers are damaged
    std::optional<ElfSection> section(std::string_view name) const;
    // Address of the file before relocation: the lowest PT_LOAD, rounded down to a page. An address in a process is the
    // address in the file, minus this, plus the start of the lowest mapping.
    std::uint64_t load_address() const;
    std::optional<std::string> build_id() const;  // hex digits

    // Finds defined symbols only; .dynsym is preferred to .symtab. One pass finds all names, and the result has one
    // entry per name. A table above kSearchLimit is not searched.
    std::optional<ElfSymbol> find_symbol(std::string_view name) const;
    std::vector<std::optional<ElfSymbol>> find_symbols(std::span<const std::string_view> names) const;
    // Like find_symbols(), but searches only .dynsym, which has every symbol that other files can use.
    std::vector<std::optional<ElfSymbol>> find_exports(std::span<const std::string_view> names) const;

    // Calls visit(text) for each occurrence of `marker`. The text reaches to the next NUL, at most `most` bytes. Stops
    // when visit returns false, or after kTextLimit bytes of the section.
    void for_each_text(const ElfSection& section, std::string_view marker, std::size_t most,
                       const std::function<bool(std::string_view)>& visit) const;
    std::optional<std::string> find_text(const ElfSection& section, std::string_view marker, std::size_t most) const;

    // Calls visit(symbol) for each entry until it returns false. Returns false if the table could not be read
    // completely.
    bool for_each_symbol(const ElfSection& table, const std::function<bool(const Elf64_Sym&)>& visit) const;

    // Reads at most `most` bytes; fewer if the section or the file ends, or if the file cannot be read.
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
    void find_in(std::uint32_t type, std::span<const std::string_view> names,
                 std::vector<std::optional<ElfSymbol>>& found) const;

    Fd file_;
    std::uint64_t size_ = 0;
    std::vector<ElfSegment> segments_{};
    std::vector<ElfSegment> notes_{};  // PT_NOTE
    std::vector<ElfSection> sections_{};
};

}  // namespace memscope
