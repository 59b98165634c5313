#pragma once
#include <cstring>
#include <elf.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include "base/fd.h"

namespace memscope {

// A handmade ELF file for tests to damage: one segment, a .text of 0x1000 bytes at 0x1000, symbols.
struct ElfBytes {
    struct Symbol {
        std::string name{};
        std::uint64_t value = 0;
        std::uint64_t size = 0;
        unsigned char info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
        std::uint16_t section = kText;
    };
    static constexpr std::uint16_t kText = 1, kSymbols = 2, kStrings = 3, kSectionNames = 4;

    Elf64_Ehdr header{};
    Elf64_Phdr segment{};
    std::vector<Elf64_Shdr> sections{};
    std::vector<Elf64_Sym> symbols{{}};
    std::string strings = std::string(1, '\0');

    explicit ElfBytes(const std::vector<Symbol>& wanted = {}) {
        for (const Symbol& symbol : wanted) {
            symbols.push_back({.st_name = static_cast<Elf64_Word>(strings.size()),
                               .st_info = symbol.info,
                               .st_other = 0,
                               .st_shndx = symbol.section,
                               .st_value = symbol.value,
                               .st_size = symbol.size});
            strings += symbol.name + '\0';
        }
        std::memcpy(header.e_ident, ELFMAG, SELFMAG);
        header.e_ident[EI_CLASS] = ELFCLASS64;
        header.e_ident[EI_DATA] = ELFDATA2LSB;
        header.e_ident[EI_VERSION] = EV_CURRENT;
        header.e_phoff = sizeof header;
        header.e_phentsize = sizeof segment;
        header.e_phnum = 1;
        header.e_shoff = kHeaders;
        header.e_shentsize = sizeof(Elf64_Shdr);
        header.e_shnum = 5;
        header.e_shstrndx = kSectionNames;
        segment = {PT_LOAD, PF_R | PF_X, 0, 0x1000, 0x1000, 0x200, 0x200, 0x1000};

        const std::uint64_t symbol_bytes = symbols.size() * sizeof(Elf64_Sym);
        sections.resize(5);
        sections[kText] = {1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, 0, 0x1000, 0, 0, 16, 0};
        sections[kSymbols] = {7, SHT_SYMTAB, 0, 0, kTables, symbol_bytes, kStrings, 0, 8, sizeof(Elf64_Sym)};
        sections[kStrings] = {15, SHT_STRTAB, 0, 0, kTables + symbol_bytes, strings.size(), 0, 0, 1, 0};
        sections[kSectionNames] = {23, SHT_STRTAB, 0, 0, kNames, sizeof kNameText, 0, 0, 1, 0};
    }

    std::string bytes() const {
        std::string out(kTables, '\0');
        std::memcpy(out.data(), &header, sizeof header);
        std::memcpy(out.data() + sizeof header, &segment, sizeof segment);
        std::memcpy(out.data() + kHeaders, sections.data(), sections.size() * sizeof(Elf64_Shdr));
        std::memcpy(out.data() + kNames, kNameText, sizeof kNameText);
        out.append(reinterpret_cast<const char*>(symbols.data()), symbols.size() * sizeof(Elf64_Sym));
        out += strings;
        if (out.size() < 0x2000) out.resize(0x2000);
        return out;
    }

  private:
    static constexpr char kNameText[] = "\0.text\0.symtab\0.strtab\0.shstrtab";
    static constexpr std::uint64_t kHeaders = 0x100, kNames = 0x300, kTables = 0x400;
};

inline Fd in_memory(const std::string& bytes) {
    Fd file(::memfd_create("elf", MFD_CLOEXEC));
    for (std::size_t done = 0; done < bytes.size();)
        done += static_cast<std::size_t>(::write(file.get(), bytes.data() + done, bytes.size() - done));
    return file;
}

}  // namespace memscope
