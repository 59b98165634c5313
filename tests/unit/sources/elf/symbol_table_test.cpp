#include "sources/elf/symbol_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "elf_bytes.h"

namespace memscope {
namespace symbol_table_test {

using Symbol = ElfBytes::Symbol;
constexpr unsigned char kLocal = ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
constexpr unsigned char kWeak = ELF64_ST_INFO(STB_WEAK, STT_FUNC);
constexpr unsigned char kNoType = ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE);

SymbolTable table_of(const std::vector<Symbol>& symbols) {
    const auto elf = ElfFile::open(in_memory(ElfBytes(symbols).bytes()));
    EXPECT_TRUE(elf);
    auto table = SymbolTable::load(*elf);
    EXPECT_TRUE(table);
    return std::move(*table);
}

TEST(SymbolTable, AnAddressHasTheNameOfItsFunctionOnly) {
    const auto table = table_of({{"b", 0x1100, 0x20}, {"a", 0x1000, 0x10}});
    EXPECT_FALSE(table.find(0xfff));
    EXPECT_EQ(table.find(0x1000), "a");
    EXPECT_EQ(table.find(0x100f), "a");
    EXPECT_FALSE(table.find(0x1010));  // between them
    EXPECT_EQ(table.find(0x111f), "b");
    EXPECT_FALSE(table.find(0x1120));  // after the last one
    EXPECT_FALSE(table.find(~std::uint64_t{0}));
    EXPECT_FALSE(SymbolTable().find(0));
}

TEST(SymbolTable, PrefersTheInnerOfNestedFunctions) {
    const auto table = table_of({{"outer", 0x1000, 0x100}, {"inner", 0x1040, 0x20}, {"crossing", 0x10f0, 0x20}});
    EXPECT_EQ(table.find(0x103f), "outer");
    EXPECT_EQ(table.find(0x1040), "inner");
    EXPECT_EQ(table.find(0x1060), "outer");
    EXPECT_EQ(table.find(0x10ef), "outer");
    EXPECT_EQ(table.find(0x10f0), "crossing");
    EXPECT_EQ(table.find(0x110f), "crossing");
    EXPECT_FALSE(table.find(0x1110));
}

TEST(SymbolTable, AFunctionWithoutASizeEndsAtTheNextOneOrWithItsSection) {
    const auto table = table_of({{"open", 0x1000, 0}, {"sized", 0x1100, 0x10}, {"last", 0x1f00, 0}});
    EXPECT_EQ(table.find(0x10ff), "open");
    EXPECT_EQ(table.find(0x1100), "sized");
    EXPECT_FALSE(table.find(0x1110));
    EXPECT_EQ(table.find(0x1fff), "last");
    EXPECT_FALSE(table.find(0x2000));
}

TEST(SymbolTable, PrefersThePublicNameOfSeveral) {
    EXPECT_EQ(table_of({{"__libc_malloc", 0x1000, 8}, {"malloc", 0x1000, 8}}).find(0x1000), "malloc");
    EXPECT_EQ(table_of({{"__read", 0x1000, 8}, {"read", 0x1000, 8, kWeak}}).find(0x1000), "read");
    EXPECT_EQ(table_of({{"a", 0x1000, 8, kLocal}, {"longer", 0x1000, 8}}).find(0x1000), "longer");
    EXPECT_EQ(table_of({{"mark", 0x1000, 0}, {"sized", 0x1000, 8, kLocal}}).find(0x1004), "sized");
    EXPECT_EQ(table_of({{"b", 0x1000, 8}, {"a", 0x1000, 8}}).find(0x1000), "a");
}

TEST(SymbolTable, IgnoresSymbolsThatAreNoFunctions) {
    EXPECT_FALSE(table_of({{"label", 0x1000, 0, kNoType}}).find(0x1000));
    EXPECT_EQ(table_of({{"assembler", 0x1000, 8, kNoType}}).find(0x1000), "assembler");
    EXPECT_FALSE(table_of({{"$x", 0x1000, 8, kNoType}}).find(0x1000));
    EXPECT_FALSE(table_of({{"data", 0x1000, 8, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT)}}).find(0x1000));
    EXPECT_FALSE(table_of({{"wanted", 0x1000, 8, kWeak, SHN_UNDEF}}).find(0x1000));
    EXPECT_FALSE(table_of({{"absolute", 0x1000, 8, kWeak, SHN_ABS}}).find(0x1000));
    EXPECT_FALSE(table_of({{"not in code", 0x1000, 8, kWeak, ElfBytes::kStrings}}).find(0x1000));
    EXPECT_FALSE(table_of({{"outside", 0x3000, 8}}).find(0x3000));
}

TEST(SymbolTable, NoFunctionReachesBeyondItsSection) {
    const auto table = table_of({{"long", 0x1ff0, ~std::uint64_t{0}}});
    EXPECT_EQ(table.find(0x1fff), "long");
    EXPECT_FALSE(table.find(0x2000));
}

TEST(SymbolTable, VersionsAreNotPartOfAName) {
    EXPECT_EQ(table_of({{"memcpy@@GLIBC_2.14", 0x1000, 8}}).find(0x1000), "memcpy");
}

TEST(SymbolTable, ALongNameIsCutOff) {
    const auto name = table_of({{std::string(10'000, 'n'), 0x1000, 8}}).find(0x1000).value_or("").size();
    EXPECT_EQ(name, SymbolTable::kNameLimit);
}

TEST(SymbolTable, ManySymbolsAreFoundEach) {
    std::vector<Symbol> symbols;
    for (unsigned i = 0; i < 4096; ++i) symbols.push_back({"function" + std::to_string(i), 0x1000 + i, 1});
    const auto table = table_of(symbols);
    for (unsigned i = 0; i < 4096; ++i) EXPECT_EQ(table.find(0x1000 + i), "function" + std::to_string(i));
}

TEST(SymbolTable, TooManySymbolsAreRefused) {
    ElfBytes bytes;
    bytes.symbols.resize(SymbolTable::kSymbolLimit + 2, {1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, 0x1000, 8});
    bytes.sections[ElfBytes::kSymbols].sh_size = bytes.symbols.size() * sizeof(Elf64_Sym);
    const auto elf = ElfFile::open(in_memory(bytes.bytes()));
    ASSERT_TRUE(elf);
    EXPECT_FALSE(SymbolTable::load(*elf));
}

}  // namespace symbol_table_test
}  // namespace memscope
