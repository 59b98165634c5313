// ELF files that no linker writes.
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "elf_bytes.h"
#include "sources/elf/symbol_table.h"

namespace memscope {
namespace symbol_table_damage_test {

using testing::IsEmpty;

constexpr std::uint64_t kHuge = ~std::uint64_t{0};

// Calls every function of an ELF file. The calls only have to return.
void ask_everything(const ElfFile& elf) {
    (void)elf.build_id();
    (void)elf.load_address();
    (void)elf.find_symbol("one");
    (void)SymbolTable::load(elf);
    for (const ElfSection& section : elf.sections()) (void)elf.find_text(section, "one", 10);
}

template <class Damage>
Result<ElfFile> damaged(Damage damage) {
    ElfBytes bytes({{"one", 0x1000, 0x10}, {"two", 0x1010, 0x10}});
    damage(bytes);
    auto elf = ElfFile::open(in_memory(bytes.bytes()));
    if (elf) ask_everything(*elf);
    return elf;
}

TEST(ElfDamage, WithoutDamageItHasEverything) {
    const auto elf = damaged([](ElfBytes&) {});
    ASSERT_TRUE(elf);
    EXPECT_EQ(elf->find_symbol("two")->value, 0x1010U);
    EXPECT_EQ(elf->section(".text")->size, 0x1000U);
    EXPECT_EQ(SymbolTable::load(*elf)->find(0x1015), "two");
}

TEST(ElfDamage, OtherClassesAndOrdersAreRefused) {
    EXPECT_FALSE(damaged([](ElfBytes& b) { b.header.e_ident[EI_CLASS] = ELFCLASS32; }));
    EXPECT_FALSE(damaged([](ElfBytes& b) { b.header.e_ident[EI_DATA] = ELFDATA2MSB; }));
    EXPECT_FALSE(damaged([](ElfBytes& b) { b.header.e_ident[0] = 'x'; }));
}

TEST(ElfDamage, ProgramHeadersOutsideTheFileAreRefused) {
    EXPECT_FALSE(damaged([](ElfBytes& b) { b.header.e_phoff = kHuge; }));
    EXPECT_FALSE(damaged([](ElfBytes& b) { b.header.e_phoff = 0x2000 - 8; }));
    EXPECT_FALSE(damaged([](ElfBytes& b) { b.header.e_phnum = 0xffff; }));
    EXPECT_FALSE(damaged([](ElfBytes& b) { b.header.e_phnum = 0; }));
    EXPECT_FALSE(damaged([](ElfBytes& b) { b.header.e_phentsize = 0; }));
}

TEST(ElfDamage, SegmentsOutsideTheFileAreIgnored) {
    EXPECT_THAT(damaged([](ElfBytes& b) { b.segment.p_offset = kHuge; })->segments(), IsEmpty());
    EXPECT_THAT(damaged([](ElfBytes& b) { b.segment.p_filesz = kHuge; })->segments(), IsEmpty());
}

TEST(ElfDamage, DamagedSectionHeadersLeaveNoSections) {
    EXPECT_THAT(damaged([](ElfBytes& b) { b.header.e_shoff = kHuge; })->sections(), IsEmpty());
    EXPECT_THAT(damaged([](ElfBytes& b) { b.header.e_shoff = 0x2000; })->sections(), IsEmpty());
    EXPECT_THAT(damaged([](ElfBytes& b) { b.header.e_shentsize = 0; })->sections(), IsEmpty());
    EXPECT_THAT(damaged([](ElfBytes& b) { b.header.e_shnum = 0xfeff; })->sections(), IsEmpty());
    EXPECT_THAT(damaged([](ElfBytes& b) {
                    b.header.e_shnum = 0;
                    b.sections[0].sh_size = std::uint64_t{1} << 32U;
                })->sections(),
                IsEmpty());
}

TEST(ElfDamage, SectionCountsInTheFirstSectionAreUsed) {
    const auto elf = damaged([](ElfBytes& b) {
        b.header.e_shnum = 0;
        b.header.e_shstrndx = SHN_XINDEX;
        b.sections[0].sh_size = 5;
        b.sections[0].sh_link = ElfBytes::kSectionNames;
    });
    ASSERT_TRUE(elf);
    EXPECT_TRUE(elf->section(".text"));
    EXPECT_TRUE(elf->find_symbol("one"));
}

// Section headers behind the rest of the file, as many as wanted, each with a name of `length` bytes.
Result<ElfFile> with_sections(std::uint16_t count, std::size_t length) {
    ElfBytes bytes;
    bytes.header.e_shoff = bytes.bytes().size();
    bytes.header.e_shnum = count;
    bytes.header.e_shstrndx = 1;
    std::vector<Elf64_Shdr> headers(count);
    for (Elf64_Shdr& header : headers) header.sh_type = SHT_PROGBITS;
    const std::string names = std::string(length, 'n') + '\0';
    headers[1].sh_offset = bytes.header.e_shoff + count * sizeof(Elf64_Shdr);
    headers[1].sh_size = names.size();
    return ElfFile::open(
        in_memory(bytes.bytes() +
                  std::string(reinterpret_cast<const char*>(headers.data()), count * sizeof(Elf64_Shdr)) + names));
}

TEST(ElfDamage, SectionsAndTheirNamesAreBounded) {
    const auto many = with_sections(4096, 64);
    ASSERT_TRUE(many);
    EXPECT_EQ(many->sections().size(), 4096U);
    EXPECT_EQ(many->sections().back().name, std::string(64, 'n'));
    EXPECT_THAT(with_sections(4097, 64)->sections(), IsEmpty());
    EXPECT_EQ(with_sections(4096, 65)->sections().back().name, "");
}

TEST(ElfDamage, TablesOutsideTheFileHaveNoSymbols) {
    for (const auto section : {ElfBytes::kSymbols, ElfBytes::kStrings}) {
        EXPECT_FALSE(damaged([&](ElfBytes& b) { b.sections[section].sh_offset = kHuge; })->find_symbol("one"));
        EXPECT_FALSE(damaged([&](ElfBytes& b) { b.sections[section].sh_size = kHuge; })->find_symbol("one"));
        EXPECT_FALSE(damaged([&](ElfBytes& b) { b.sections[section].sh_size = 0; })->find_symbol("one"));
        EXPECT_FALSE(damaged([&](ElfBytes& b) { b.sections[section].sh_type = SHT_NOBITS; })->find_symbol("one"));
    }
    EXPECT_FALSE(damaged([](ElfBytes& b) { b.sections[ElfBytes::kSymbols].sh_link = 77; })->find_symbol("one"));
}

TEST(ElfDamage, ASymbolTableThatIsItsOwnStringTableIsSafe) {
    const auto elf = damaged([](ElfBytes& b) { b.sections[ElfBytes::kSymbols].sh_link = ElfBytes::kSymbols; });
    ASSERT_TRUE(elf);
    EXPECT_FALSE(elf->find_symbol("one"));
}

TEST(ElfDamage, ANameWithoutAnEndEndsWithItsTable) {
    const auto elf = damaged([](ElfBytes& b) {
        b.sections[ElfBytes::kStrings].sh_size -= 1;  // drops the NUL after "two"
        b.header.e_shstrndx = ElfBytes::kStrings;
    });
    ASSERT_TRUE(elf);
    EXPECT_FALSE(elf->find_symbol("two"));
    EXPECT_EQ(SymbolTable::load(*elf)->find(0x1010), "two");
    EXPECT_FALSE(elf->section(".text"));
}

TEST(ElfDamage, NamesOutsideTheirTableAreIgnored) {
    const auto elf = damaged([](ElfBytes& b) { b.symbols[1].st_name = 0xffffffff; });
    ASSERT_TRUE(elf);
    EXPECT_FALSE(SymbolTable::load(*elf)->find(0x1000));
    EXPECT_TRUE(SymbolTable::load(*elf)->find(0x1010));
}

// Bytes that this thread has read so far, by any system call. The kernel counts them.
std::uint64_t bytes_read() {
    std::ifstream file("/proc/thread-self/io");
    std::string key;
    std::uint64_t value = 0;
    file >> key >> value;
    EXPECT_EQ(key, "rchar:");
    return value;
}

// A file whose names are `size` bytes of 'c', each symbol with a name in them.
std::string with_names_of_c(std::uint64_t size) {
    ElfBytes bytes({{"one", 0x1000, 0x10}});
    for (Elf64_Word i = 0; i < 1000; ++i) {
        bytes.symbols.push_back(bytes.symbols.back());
        bytes.symbols.back().st_name = i + 100;
    }
    bytes.strings.resize(size, 'c');
    const std::uint64_t added = 1000 * sizeof(Elf64_Sym);
    bytes.sections[ElfBytes::kSymbols].sh_size += added;
    bytes.sections[ElfBytes::kStrings].sh_offset += added;
    bytes.sections[ElfBytes::kStrings].sh_size = size;
    return bytes.bytes();
}

TEST(ElfDamage, NamesAreSearchedInOneReadOfTheTablesUpToALimit) {
    std::vector<std::string> texts;
    for (std::size_t i = 1; i <= 33; ++i) texts.push_back(std::string(i, 'c'));
    texts.push_back("one");
    const std::vector<std::string_view> names(texts.begin(), texts.end());
    constexpr std::uint64_t kMore = 1 << 20;  // headers and symbols

    const auto largest = ElfFile::open(in_memory(with_names_of_c(ElfFile::kSearchLimit)));
    ASSERT_TRUE(largest);
    const std::uint64_t before = bytes_read();
    const auto found = largest->find_symbols(names);
    EXPECT_LE(bytes_read() - before, ElfFile::kSearchLimit + kMore);
    EXPECT_TRUE(found.back());
    EXPECT_EQ(std::count(found.begin(), found.end(), std::nullopt), 33) << "no name of 'c' bytes is terminated";

    const auto too_large = ElfFile::open(in_memory(with_names_of_c(ElfFile::kSearchLimit + 1)));
    ASSERT_TRUE(too_large);
    const std::uint64_t then = bytes_read();
    EXPECT_FALSE(too_large->find_symbols(names).back());
    EXPECT_LE(bytes_read() - then, kMore);
}

TEST(ElfDamage, TextIsSearchedUpToALimit) {
    const Fd file = in_memory(ElfBytes({{"one", 0x1000, 0x10}}).bytes());
    constexpr std::uint64_t kSize = std::uint64_t{4} << 30;
    ASSERT_EQ(::ftruncate(file.get(), kSize), 0);  // a sparse file: it takes no memory
    const auto elf = ElfFile::open(file);
    ASSERT_TRUE(elf);
    const ElfSection section{.size = kSize, .type = SHT_PROGBITS};
    const std::uint64_t before = bytes_read();
    EXPECT_FALSE(elf->find_text(section, "no such text", 10));
    EXPECT_LE(bytes_read() - before, ElfFile::kTextLimit * 5 / 4);
}

TEST(ElfDamage, AFileThatShrinksWhileItIsReadOnlyHasLess) {
    const Fd file = in_memory(ElfBytes({{"one", 0x1000, 0x10}}).bytes());
    const auto elf = ElfFile::open(file);
    ASSERT_TRUE(elf);
    ASSERT_EQ(::ftruncate(file.get(), 0x300), 0);
    ask_everything(*elf);
    EXPECT_FALSE(elf->find_symbol("one"));
    EXPECT_FALSE(SymbolTable::load(*elf));
}

TEST(ElfDamage, EveryCutOfAFileIsSurvived) {
    const std::string whole = ElfBytes({{"one", 0x1000, 0x10}}).bytes();
    for (std::size_t size = 0; size < 0x480; size += 7)
        if (const auto elf = ElfFile::open(in_memory(whole.substr(0, size)))) ask_everything(*elf);
}

}  // namespace symbol_table_damage_test
}  // namespace memscope
