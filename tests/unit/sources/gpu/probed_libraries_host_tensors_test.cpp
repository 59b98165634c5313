#include <fcntl.h>
#include <gmock/gmock.h>

#include "elf_bytes.h"
#include "sources/gpu/probed_libraries.h"

namespace memscope {
namespace probed_libraries_host_tensors_test {

using ::testing::HasSubstr;

Result<std::vector<HostTensorPlace>> places_of(const std::string& path) {
    const auto file = ElfFile::open(Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)));
    return file ? host_tensor_places(*file) : Result<std::vector<HostTensorPlace>>(file.error());
}

TEST(HostTensorLibrary, HasItsThreeFunctionsAtDifferentOffsets) {
    const auto places = places_of(FAKE_HOST_TENSORS "/exported/libc10.so");
    ASSERT_TRUE(places) << places.error().message();
    ASSERT_EQ(places->size(), 3U);
    EXPECT_EQ((*places)[0].call, MS_HOST_NEW);
    EXPECT_EQ((*places)[1].call, MS_HOST_DELETE);
    EXPECT_EQ((*places)[2].call, MS_HOST_OUT_OF_MEMORY);
    EXPECT_NE((*places)[0].offset, (*places)[1].offset);
    EXPECT_NE((*places)[1].offset, (*places)[2].offset);
}

TEST(HostTensorLibrary, IsRefusedWithoutTheFunctionForFrees) {
    const auto places = places_of(FAKE_HOST_TENSORS "/bare/libc10.so");
    ASSERT_FALSE(places);
    EXPECT_THAT(places.error().where, HasSubstr("does not export the functions that report its storages"));
}

TEST(HostTensorLibrary, IsNamedLikePyTorchsBaseLibrary) {
    const std::string maps =
        "1000-2000 r-xp 00000000 08:01 11 /venv/torch/lib/libc10.so\n"
        "2000-3000 r-xp 00000000 08:01 12 /venv/torch/lib/libc10_cuda.so\n";
    const auto found = mappings_named(maps, kHostTensorFileName);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found.front().inode, 11U);
}

}  // namespace probed_libraries_host_tensors_test
}  // namespace memscope
