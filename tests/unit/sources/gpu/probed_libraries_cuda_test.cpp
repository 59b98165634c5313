#include <gmock/gmock.h>

#include "elf_bytes.h"
#include "sources/gpu/probed_libraries.h"

namespace memscope {
namespace probed_libraries_cuda_test {

using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(CudaMappings, AreExecutableFilesOfThatNameEachOnce) {
    const auto found = mappings_named(
        "1000-2000 r--p 00000000 08:01 11 /usr/lib/libcuda.so.580.159\n"
        "2000-3000 r-xp 00001000 08:01 11 /usr/lib/libcuda.so.580.159\n"
        "3000-4000 r-xp 00001000 08:01 11 /usr/lib/libcuda.so.580.159\n"
        "4000-5000 r-xp 00000000 08:01 12 /opt/job/libcuda.so.1 (deleted)\n"
        "5000-6000 r-xp 00000000 08:01 13 /usr/lib/libcudart.so.13\n"
        "6000-7000 r-xp 00000000 08:01 14 /home/libcuda.so/libm.so.6\n"
        "7000-8000 r-xp 00000000 00:00 0 libcuda.so\n",
        kCudaFileName);
    ASSERT_THAT(found, SizeIs(2));
    EXPECT_EQ(found[0].inode, 11U);
    EXPECT_EQ(found[0].start, 0x2000U);
    EXPECT_EQ(found[1].inode, 12U);
    EXPECT_TRUE(found[1].deleted);
}

TEST(CudaMappings, OfOneProcessAreBounded) {
    std::string maps;
    for (int i = 1; i <= 1000; ++i)
        maps += std::to_string(i) + "000-" + std::to_string(i) + "fff r-xp 00000000 08:01 " + std::to_string(i) +
                " /x/libcuda.so.1\n";
    EXPECT_LE(mappings_named(maps, kCudaFileName).size(), 8U);
}

Result<ElfFile> opened(ElfBytes elf, std::uint32_t table = SHT_DYNSYM) {
    elf.sections[ElfBytes::kSymbols].sh_type = table;
    return ElfFile::open(in_memory(elf.bytes()));
}

TEST(CudaPlaces, AreFileOffsetsOfExportedFunctions) {
    const auto file =
        opened(ElfBytes({{"cuMemAlloc_v2", 0x1010}, {"cuMemFree_v2", 0x1020}, {"cuLaunchKernel", 0x1030}}));
    ASSERT_TRUE(file);
    const auto places = cuda_places(*file);
    ASSERT_THAT(places, SizeIs(2));
    EXPECT_EQ(places[0], (CudaPlace{MS_CUDA_ALLOC, 0x10}));
    EXPECT_EQ(places[1], (CudaPlace{MS_CUDA_FREE, 0x20}));
}

TEST(CudaPlaces, IgnoreFunctionsThatAreNotExported) {
    const auto file = opened(ElfBytes({{"cuMemAlloc_v2", 0x1010}}), SHT_SYMTAB);
    ASSERT_TRUE(file);
    EXPECT_THAT(cuda_places(*file), IsEmpty());
}

TEST(CudaPlaces, AFunctionWithTwoNamesHasOnePlace) {
    const auto file = opened(ElfBytes({{"cuMemFreeAsync", 0x1010}, {"cuMemFreeAsync_ptsz", 0x1010}}));
    ASSERT_TRUE(file);
    EXPECT_THAT(cuda_places(*file), SizeIs(1));
}

TEST(CudaPlaces, IgnoreAddressesOutsideOfCode) {
    const auto file =
        opened(ElfBytes({{"cuMemAlloc_v2", 0x10}, {"cuMemFree_v2", ~std::uint64_t{0}}, {"cuMemMap", 0x1200}}));
    ASSERT_TRUE(file);
    EXPECT_THAT(cuda_places(*file), IsEmpty());
}

}  // namespace probed_libraries_cuda_test
}  // namespace memscope
