#pragma once
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <iterator>
#include <optional>
#include <string>

namespace memscope {

// A note of a probe, as <sys/sdt.h> writes it into a file.
struct UsdtNote {
    std::uint64_t place = 0;
    std::uint64_t base = 0;
    std::uint64_t semaphore = 0;
    std::string provider = "pytorch";
    std::string name = "malloc";
    std::string arguments{};
    std::uint32_t type = 3;

    std::string bytes() const {
        std::string content(24, '\0');
        std::memcpy(content.data(), &place, 8);
        std::memcpy(content.data() + 8, &base, 8);
        std::memcpy(content.data() + 16, &semaphore, 8);
        content += provider + '\0' + name + '\0' + arguments + '\0';
        const Elf64_Nhdr header{.n_namesz = 8, .n_descsz = static_cast<std::uint32_t>(content.size()), .n_type = type};
        std::string note(reinterpret_cast<const char*>(&header), sizeof header);
        note += std::string("stapsdt\0", 8) + content;
        note.resize((note.size() + 3) / 4 * 4);
        return note;
    }
};

// A file with such notes: code at 0x1000 in its first 0x200 bytes, data at 0x3000 in the next 0x100. `base`, if given,
// is the address of the section .stapsdt.base, which shows whether the file was moved.
inline std::string elf_with_notes(const std::string& notes, std::optional<std::uint64_t> base = {}) {
    constexpr std::uint64_t kHeaders = 0x100, kNames = 0x220, kNotes = 0x300;
    constexpr char kText[] = "\0.note.stapsdt\0.stapsdt.base\0.shstrtab";
    const Elf64_Phdr segments[] = {{PT_LOAD, PF_R | PF_X, 0, 0x1000, 0x1000, 0x200, 0x200, 0x1000},
                                   {PT_LOAD, PF_R | PF_W, 0x200, 0x3000, 0x3000, 0x100, 0x100, 0x1000}};
    const Elf64_Shdr sections[] = {{},
                                   {1, SHT_NOTE, 0, 0, kNotes, notes.size(), 0, 0, 4, 0},
                                   {29, SHT_STRTAB, 0, 0, kNames, sizeof kText, 0, 0, 1, 0},
                                   {15, SHT_PROGBITS, SHF_ALLOC, base.value_or(0), 0, 1, 0, 0, 1, 0}};
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = std::size(segments);
    header.e_shoff = kHeaders;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = base ? 4 : 3;
    header.e_shstrndx = 2;
    std::string bytes(kNotes, '\0');
    std::memcpy(bytes.data(), &header, sizeof header);
    std::memcpy(bytes.data() + sizeof header, segments, sizeof segments);
    std::memcpy(bytes.data() + kHeaders, sections, header.e_shnum * sizeof(Elf64_Shdr));
    std::memcpy(bytes.data() + kNames, kText, sizeof kText);
    return bytes + notes;
}

}  // namespace memscope
