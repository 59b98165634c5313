#include "sources/elf/elf_file.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>

// The tests find this function by name in the test program.
extern "C" __attribute__((used, noinline)) int memscope_test_landmark(int x) { return x + 1; }
__attribute__((used)) const char kMemscopeTestText[] = "marker<in the test program>\0behind";

namespace memscope {
namespace elf_file_test {

Result<ElfFile> open_path(const char* path) { return ElfFile::open(Fd(::open(path, O_RDONLY | O_CLOEXEC))); }

std::uint64_t bias_of_this_program() {
    std::uint64_t bias = 0;
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* out) {
            *static_cast<std::uint64_t*>(out) = info->dlpi_addr;  // the program comes first
            return 1;
        },
        &bias);
    return bias;
}

TEST(ElfFile, FindsASymbolOfThisProgramWhereItIs) {
    const auto elf = open_path("/proc/self/exe");
    ASSERT_TRUE(elf) << elf.error().message();
    const auto symbol = elf->find_symbol("memscope_test_landmark");
    ASSERT_TRUE(symbol);
    EXPECT_EQ(symbol->value + bias_of_this_program(), reinterpret_cast<std::uint64_t>(&memscope_test_landmark));
    EXPECT_GT(symbol->size, 0U);
}

TEST(ElfFile, FindsSeveralSymbolsInOnePassAndNoneThatIsNotThere) {
    const auto elf = open_path("/proc/self/exe");
    ASSERT_TRUE(elf);
    const std::string_view names[] = {"memscope_test_landmark", "", "no such symbol", "memscope_test_landmark", "main"};
    const auto found = elf->find_symbols(names);
    ASSERT_EQ(found.size(), 5U);
    EXPECT_TRUE(found[0]);
    EXPECT_FALSE(found[1]);
    EXPECT_FALSE(found[2]);
    EXPECT_TRUE(found[3]);
    EXPECT_TRUE(found[4]);
}

TEST(ElfFile, DoesNotFindUndefinedSymbols) {
    const auto elf = open_path("/proc/self/exe");
    ASSERT_TRUE(elf);
    EXPECT_FALSE(elf->find_symbol("dl_iterate_phdr"));
}

TEST(ElfFile, SectionsHaveAddressesAndContents) {
    const auto elf = open_path("/proc/self/exe");
    ASSERT_TRUE(elf);
    const auto text = elf->section(".text");
    ASSERT_TRUE(text);
    const std::uint64_t here = reinterpret_cast<std::uint64_t>(&memscope_test_landmark) - bias_of_this_program();
    EXPECT_GE(here, text->address);
    EXPECT_LT(here, text->address + text->size);
    EXPECT_EQ(elf->read(*text, here - text->address, 4),
              std::string(reinterpret_cast<const char*>(&memscope_test_landmark), 4));
    EXPECT_EQ(address_in(elf->segments(), here - text->address + text->offset, true), here);
    EXPECT_FALSE(elf->section(""));
    EXPECT_FALSE(elf->section(".nothing"));
    EXPECT_EQ(elf->section(".bss")->file_size(), 0U);
}

TEST(ElfFile, FindsTextBehindAMarker) {
    const auto elf = open_path("/proc/self/exe");
    ASSERT_TRUE(elf);
    const auto section = elf->section(".rodata");
    ASSERT_TRUE(section);
    // Concatenated here, so that the marker occurs only once in the program.
    const std::string marker = std::string("marker") + "<in the";
    EXPECT_EQ(elf->find_text(*section, marker, 100), "marker<in the test program>");
    EXPECT_EQ(elf->find_text(*section, marker, 20), "marker<in the test p");
    EXPECT_FALSE(elf->find_text(*section, marker + " wrong place", 100));
}

TEST(ElfFile, ThisProgramAndItsLibrariesHaveABuildId) {
    const auto elf = open_path("/proc/self/exe");
    ASSERT_TRUE(elf);
    Dl_info libc{};
    ASSERT_NE(::dladdr(reinterpret_cast<void*>(&::getpid), &libc), 0);
    const auto library = open_path(libc.dli_fname);
    ASSERT_TRUE(library) << libc.dli_fname;
    ASSERT_TRUE(library->build_id());
    EXPECT_EQ(library->build_id()->size(), 40U);
    EXPECT_TRUE(library->find_symbol("malloc"));
}

TEST(ElfFile, OtherFilesAreErrors) {
    EXPECT_FALSE(open_path("/proc/self/status"));
    EXPECT_FALSE(open_path("/dev/zero"));
    EXPECT_FALSE(open_path("/proc"));
    EXPECT_FALSE(open_path("/nowhere"));
}

}  // namespace elf_file_test
}  // namespace memscope
