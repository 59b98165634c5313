#include <fcntl.h>
#include <gmock/gmock.h>

#include "elf_bytes.h"
#include "sources/elf/usdt.h"
#include "sources/gpu/probed_libraries.h"
#include "support/usdt_note.h"

namespace memscope {
namespace probed_libraries_gpu_tensors_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Noted {
    std::string notes{};
    std::optional<std::uint64_t> base{};  // the address of .stapsdt.base

    Fd file() const { return in_memory(elf_with_notes(notes, base)); }
    Result<std::vector<UsdtProbe>> probes() const {
        const auto opened = ElfFile::open(file());
        return opened ? read_usdt_probes(*opened, "pytorch") : Result<std::vector<UsdtProbe>>(opened.error());
    }
    Result<std::vector<GpuTensorPlace>> places(Machine machine = Machine::x86_64) const {
        const auto opened = ElfFile::open(file());
        return opened ? gpu_tensor_places(*opened, machine) : Result<std::vector<GpuTensorPlace>>(opened.error());
    }
};

const UsdtNote kMalloc{.place = 0x1010, .semaphore = 0x3004, .arguments = "-8@24(%rsp) -1@15(%rsp) -8@%rbx -8@%rax"};
const UsdtNote kFree{.place = 0x1020, .semaphore = 0x3006, .name = "free", .arguments = "-8@%rbx"};

TEST(UsdtNotes, HavePlacesAndSemaphoresInTheFile) {
    const Noted file{.notes = kMalloc.bytes() + kFree.bytes()};
    const auto probes = file.probes();
    ASSERT_TRUE(probes) << probes.error().message();
    EXPECT_THAT(*probes, ElementsAre(UsdtProbe{"malloc", kMalloc.arguments, 0x10, 0x204},
                                     UsdtProbe{"free", kFree.arguments, 0x20, 0x206}));
}

TEST(UsdtNotes, OfOtherProvidersAndOtherNotesAreLeftOut) {
    UsdtNote other = kMalloc;
    other.provider = "libc";
    other.place = 0;  // an invalid place of another provider, which does not matter
    UsdtNote of_another_kind = kFree;
    of_another_kind.type = 1;
    const Noted file{.notes = other.bytes() + of_another_kind.bytes() + kFree.bytes()};
    const auto probes = file.probes();
    ASSERT_TRUE(probes);
    EXPECT_THAT(*probes, SizeIs(1));
}

TEST(UsdtNotes, AreAdjustedIfTheFileWasMovedAfterLinking) {
    UsdtNote note = kFree;
    note.place += 0x100;
    note.semaphore += 0x100;
    note.base = 0x1580;
    const Noted file{.notes = note.bytes(), .base = 0x1480};
    const auto probes = file.probes();
    ASSERT_TRUE(probes) << probes.error().message();
    EXPECT_THAT(*probes, ElementsAre(UsdtProbe{"free", kFree.arguments, 0x20, 0x206}));
}

TEST(UsdtNotes, ThatPointOutOfTheFileAreAnError) {
    for (const std::uint64_t address : {std::uint64_t{0}, std::uint64_t{0x3004}, ~std::uint64_t{0}}) {
        UsdtNote note = kFree;
        note.place = address;
        EXPECT_FALSE(Noted{.notes = note.bytes()}.probes()) << address;
    }
    for (const std::uint64_t address : {std::uint64_t{0x1010}, std::uint64_t{0x3100}, ~std::uint64_t{0}}) {
        UsdtNote note = kFree;
        note.semaphore = address;
        EXPECT_FALSE(Noted{.notes = note.bytes()}.probes()) << address;
    }
    UsdtNote unguarded = kFree;
    unguarded.semaphore = 0;
    EXPECT_TRUE(Noted{.notes = unguarded.bytes()}.probes());
}

TEST(UsdtNotes, TruncatedNotesAreAnErrorOrFewer) {
    const std::string whole = kMalloc.bytes() + kFree.bytes();
    const std::size_t unpadded = whole.find_last_not_of('\0') + 2;  // includes the NUL of the last text
    for (std::size_t size = 0; size < unpadded; ++size) {
        const auto probes = Noted{.notes = whole.substr(0, size)}.probes();
        EXPECT_LT(probes ? probes->size() : 0, 2U) << size;
    }
}

TEST(UsdtNotes, WithWrongLengthsAreAnError) {
    for (const std::size_t field : {0U, 1U}) {
        for (const std::uint32_t length : {0x7FFFFFFFU, 0xFFFFFFFFU, 0xFFFFFFFCU, 4096U}) {
            std::string notes = kFree.bytes();
            std::memcpy(notes.data() + 4 * field, &length, sizeof length);
            EXPECT_FALSE(Noted{.notes = notes}.probes()) << field << " " << length;
        }
    }
    std::string unended = kFree.bytes();
    unended[unended.find("-8@")] = 'x';
    const std::uint32_t shorter = 24 + 8;  // ends within the provider's name
    std::memcpy(unended.data() + 4, &shorter, sizeof shorter);
    EXPECT_FALSE(Noted{.notes = unended}.probes());
}

TEST(GpuTensorPlaces, AreTheProbesOfAllocationsAndFrees) {
    UsdtNote second = kFree;
    second.place = 0x1030;
    second.arguments = "-8@8(%rsp)";
    const auto places = Noted{.notes = kMalloc.bytes() + kFree.bytes() + second.bytes()}.places();
    ASSERT_TRUE(places) << places.error().message();
    ASSERT_THAT(*places, SizeIs(3));
    EXPECT_EQ((*places)[0].site.event, unsigned{MS_GPU_TENSOR_MALLOC});
    EXPECT_EQ((*places)[0].site.pointer.number, 24);
    EXPECT_EQ((*places)[0].site.device.number, 15);
    EXPECT_EQ((*places)[0].site.device.bytes, 1);
    EXPECT_EQ((*places)[0].site.size.register_at, 40);
    EXPECT_EQ((*places)[2].site.event, unsigned{MS_GPU_TENSOR_FREE});
    EXPECT_EQ((*places)[2].offset, 0x30U);
}

TEST(GpuTensorPlaces, SkipTheDeviceTypeBeforeTheDeviceIndex) {
    UsdtNote note = kMalloc;
    note.arguments = "8@%rax -2@%dx 8@-24(%rbp)";
    const auto in_register = Noted{.notes = note.bytes() + kFree.bytes()}.places();
    ASSERT_TRUE(in_register);
    EXPECT_EQ((*in_register)[0].site.device.skipped_bits, 8);
    note.arguments = "8@%rax -2@$769 8@-24(%rbp)";
    const auto constant = Noted{.notes = note.bytes() + kFree.bytes()}.places();
    ASSERT_TRUE(constant);
    EXPECT_EQ((*constant)[0].site.device.number, 3);
}

// With only some of the probes the sums would be wrong without notice.
TEST(GpuTensorPlaces, MustBeComplete) {
    EXPECT_THAT(Noted{}.places().error().message(), HasSubstr("no probes of tensors"));
    EXPECT_FALSE(Noted{.notes = kMalloc.bytes()}.places())
        << "without the probe of free, no tensor would be counted as freed";
    UsdtNote odd = kFree;
    odd.place = 0x1030;
    odd.arguments = "-8@(%rax,%rbx,8)";
    const auto refused = Noted{.notes = kMalloc.bytes() + kFree.bytes() + odd.bytes()}.places();
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("(%rax,%rbx,8)"));
    EXPECT_FALSE((Noted{.notes = kMalloc.bytes() + kFree.bytes()}.places(Machine::aarch64)));
    std::string many = kMalloc.bytes();
    for (std::uint64_t i = 0; i < 100; ++i) {
        UsdtNote note = kFree;
        note.place = 0x1020 + i;
        many += note.bytes();
    }
    EXPECT_FALSE(Noted{.notes = many}.places());
}

TEST(TorchMappings, AreOnlyTheLibraryWithTheAllocator) {
    const std::string maps =
        "1000-2000 r-xp 00000000 08:01 11 /venv/torch/lib/libc10_cuda.so\n"
        "2000-3000 r-xp 00000000 08:01 12 /venv/torch/lib/libc10.so\n"
        "3000-4000 r-xp 00000000 08:01 13 /usr/lib/libcuda.so.1\n";
    EXPECT_THAT(mappings_named(maps, "libc10_cuda.so"), SizeIs(1));
    EXPECT_THAT(mappings_named("", "libc10_cuda.so"), IsEmpty());
}

}  // namespace probed_libraries_gpu_tensors_test
}  // namespace memscope
