#pragma once
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <string>
#include <vector>

namespace memscope {

// A small executable file with the parts that the readers need. Its only segment begins at address 0.
class FakeElf {
  public:
    void symbol(const std::string& name, std::uint64_t address) {
        symbols_.push_back({.st_name = static_cast<std::uint32_t>(names_.size()),
                            .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
                            .st_other = 0,
                            .st_shndx = 1,
                            .st_value = address,
                            .st_size = 8});
        names_ += name + '\0';
    }
    void section(const std::string& name, std::uint64_t address, const std::string& content) {
        add(name, SHT_PROGBITS, address, content);
    }

    std::string bytes() {
        const std::string symbols(reinterpret_cast<const char*>(symbols_.data()), symbols_.size() * sizeof symbols_[0]);
        add(".dynstr", SHT_STRTAB, 0, names_);
        const auto names_index = static_cast<std::uint32_t>(sections_.size() - 1);
        add(".dynsym", SHT_DYNSYM, 0, symbols);
        sections_.back().sh_link = names_index;
        sections_.back().sh_entsize = sizeof(Elf64_Sym);
        const auto name = static_cast<std::uint32_t>(section_names_.size());
        section_names_ += std::string(".shstrtab") + '\0';
        add_named(name, SHT_STRTAB, 0, section_names_);

        Elf64_Ehdr header{};
        std::memcpy(header.e_ident, ELFMAG, SELFMAG);
        header.e_ident[EI_CLASS] = ELFCLASS64;
        header.e_ident[EI_DATA] = ELFDATA2LSB;
        header.e_ident[EI_VERSION] = EV_CURRENT;
        header.e_type = ET_DYN;
        header.e_version = EV_CURRENT;
        header.e_ehsize = sizeof header;
        header.e_phoff = sizeof header;
        header.e_phentsize = sizeof(Elf64_Phdr);
        header.e_phnum = 1;
        header.e_shoff = content_.size();
        header.e_shentsize = sizeof(Elf64_Shdr);
        header.e_shnum = static_cast<std::uint16_t>(sections_.size());
        header.e_shstrndx = static_cast<std::uint16_t>(sections_.size() - 1);
        Elf64_Phdr segment{};
        segment.p_type = PT_LOAD;
        segment.p_filesz = segment.p_memsz = content_.size();
        std::memcpy(content_.data(), &header, sizeof header);
        std::memcpy(content_.data() + sizeof header, &segment, sizeof segment);
        return content_ +
               std::string(reinterpret_cast<const char*>(sections_.data()), sections_.size() * sizeof(Elf64_Shdr));
    }

  private:
    void add(const std::string& name, std::uint32_t type, std::uint64_t address, const std::string& content) {
        const auto at = static_cast<std::uint32_t>(section_names_.size());
        section_names_ += name + '\0';
        add_named(at, type, address, content);
    }
    void add_named(std::uint32_t name, std::uint32_t type, std::uint64_t address, const std::string& content) {
        Elf64_Shdr header{};
        header.sh_name = name;
        header.sh_type = type;
        header.sh_addr = address;
        header.sh_offset = content_.size();
        header.sh_size = content.size();
        sections_.push_back(header);
        content_ += content;
        content_.resize((content_.size() + 7) / 8 * 8);
    }

    std::string content_ = std::string(sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr), '\0');
    std::string names_ = std::string(1, '\0');
    std::string section_names_ = std::string(1, '\0');
    std::vector<Elf64_Sym> symbols_ = std::vector<Elf64_Sym>(1);
    std::vector<Elf64_Shdr> sections_ = std::vector<Elf64_Shdr>(1);
};

}  // namespace memscope
