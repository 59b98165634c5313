#include "sources/heap/present_memory.h"

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/fake_heap.h"

namespace memscope {
namespace present_memory_test {

constexpr Seconds kLong{60};
const auto kPage = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));

// Pages of this process, some of which were touched.
class OwnPages {
  public:
    explicit OwnPages(std::size_t pages)
        : bytes_(pages * kPage),
          start_(
              static_cast<char*>(::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
        ::madvise(start_, bytes_, MADV_NOHUGEPAGE);
    }
    ~OwnPages() { ::munmap(start_, bytes_); }
    OwnPages(const OwnPages&) = delete;
    OwnPages& operator=(const OwnPages&) = delete;

    char* page(std::size_t index) { return start_ + index * kPage; }
    std::uint64_t address(std::size_t index) { return reinterpret_cast<std::uint64_t>(page(index)); }
    void touch(std::size_t index) { std::memset(page(index), static_cast<int>(index), kPage); }
    bool is_present(std::size_t index) {
        unsigned char state = 0;
        return ::mincore(page(index), kPage, &state) == 0 && (state & 1) != 0;
    }

  private:
    std::size_t bytes_;
    char* start_;
};

struct OwnProcess {
    Fd directory = *open_directory("/proc/self");
    ProcessMaps maps = *read_process_maps(directory);
    Pace pace{};
};

PresentPagesReading read_own(OwnProcess& own, PageScan scan, std::size_t most_runs = 1 << 20) {
    return *read_present_pages(own.directory, own.maps, most_runs, own.pace, ReadDeadline(kLong), scan);
}

// Without PAGEMAP_SCAN every entry is read, and the shadow memory of a sanitizer has too many of them.
#ifdef MEMSCOPE_SANITIZED
constexpr std::array kScans = {PageScan::if_available};
#else
constexpr std::array kScans = {PageScan::if_available, PageScan::never};
#endif

[[maybe_unused]] bool has_pagemap_scan() {
    const Fd pagemap{::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)};
    std::array<std::uint64_t, 12> argument{};  // of no valid size, which only a kernel with the call refuses as invalid
    return ::ioctl(pagemap.get(), _IOWR('f', 16, decltype(argument)), argument.data()) != 0 && errno == EINVAL;
}

TEST(PresentPages, OnlyTouchedPagesArePresent) {
    OwnPages pages(16);
    for (const std::size_t i : {2, 3, 7}) pages.touch(i);
    for (const PageScan scan : kScans) {
        OwnProcess own;
        const auto reading = read_own(own, scan);
        for (std::size_t i = 0; i < 16; ++i)
            EXPECT_EQ(reading.pages.contains(pages.address(i)), i == 2 || i == 3 || i == 7) << i;
        EXPECT_EQ(reading.pages.bytes_in({pages.address(0), pages.address(16)}), 3 * kPage);
        EXPECT_EQ(reading.pages.bytes_in({pages.address(3) + 10, pages.address(7) + 5}), kPage - 10 + 5);
        EXPECT_EQ(reading.pages.end_of_run(pages.address(2)), pages.address(4));
        EXPECT_FALSE(reading.cut_off);
    }
}

// The address space of ThreadSanitizer has no room for this test.
#ifndef MEMSCOPE_SANITIZED
// A program can map far more memory than it uses. In steps of 4 MiB this mapping takes longer than a census may.
TEST(PresentPages, SkipsTerabytesWithoutPagesOrIsLate) {
    constexpr std::size_t kSize = std::size_t{32} << 40;
    void* const mapped =
        ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    ::madvise(mapped, kSize, MADV_NOHUGEPAGE);
    const auto start = std::bit_cast<std::uint64_t>(mapped);
    const std::uint64_t touched = start + kSize / 2 + 3 * kPage;
    *std::bit_cast<volatile char*>(touched) = 1;
    OwnProcess own;
    const auto reading = *read_present_pages(own.directory, own.maps, 1 << 20, own.pace, ReadDeadline(Seconds{5}),
                                             PageScan::if_available);
    if (has_pagemap_scan()) {
        EXPECT_FALSE(reading.late);
        EXPECT_EQ(reading.pages.bytes_in({start, start + kSize}), kPage);
        EXPECT_TRUE(reading.pages.contains(touched));
    } else {
        EXPECT_TRUE(reading.late) << "Linux before 6.7 has no call that skips memory without pages";
    }
    ::munmap(mapped, kSize);
}
#endif

TEST(PresentPages, MoreRunsThanTheLimitAreCutOff) {
    OwnPages pages(64);
    for (std::size_t i = 0; i < 64; i += 2) pages.touch(i);
    OwnProcess own;
    const auto reading = read_own(own, PageScan::if_available, 8);
    EXPECT_TRUE(reading.cut_off);
    EXPECT_LE(reading.pages.runs().size(), 8U);
}

TEST(PresentPages, IsLateWithoutTime) {
    OwnProcess own;
    EXPECT_TRUE(read_present_pages(own.directory, own.maps, 1 << 20, own.pace, ReadDeadline(Seconds{0}))->late);
}

TEST(ProcessSource, APageThatIsNotPresentIsNeitherReadNorFaultedIn) {
    OwnPages pages(8);
    pages.touch(1);
    OwnProcess own;
    auto source = ProcessSource::open(own.directory, ::getpid(), own.pace);
    ASSERT_TRUE(source);
    std::array<std::byte, 64> first{}, second{}, third{};
    MemorySource::Piece pieces[] = {
        {pages.address(0), first}, {pages.address(1) + 8, second}, {pages.address(5), third}};
    source->read(pieces);
    EXPECT_FALSE(pieces[0].done);
    EXPECT_TRUE(pieces[1].done);
    EXPECT_EQ(second[0], std::byte{1});
    EXPECT_FALSE(pieces[2].done);
    for (const std::size_t i : {0, 5}) EXPECT_FALSE(pages.is_present(i)) << i;
}

TEST(ProcessSource, AddressesOutsideOfTheProcessAreRefused) {
    OwnProcess own;
    auto source = ProcessSource::open(own.directory, ::getpid(), own.pace);
    ASSERT_TRUE(source);
    for (const std::uint64_t address :
         {std::uint64_t{0}, std::uint64_t{1} << 60, ~std::uint64_t{0}, ~std::uint64_t{7}}) {
        std::array<std::byte, 16> into{};
        MemorySource::Piece piece{address, into};
        source->read({&piece, 1});
        EXPECT_FALSE(piece.done) << address;
    }
}

TEST(PresentMemory, SmallReadsCrossBlocks) {
    FakePages pages;
    for (std::uint64_t at = 0x10000; at < 0x13000; at += 8) pages.put(at, at);
    const PresentPages present = pages.present();
    PresentMemory memory(pages, present);
    std::array<std::uint64_t, 4> words{};
    ASSERT_TRUE(memory.read(0x10ff0, std::as_writable_bytes(std::span(words))));
    EXPECT_THAT(words, testing::ElementsAre(0x10ff0, 0x10ff8, 0x11000, 0x11008));
    EXPECT_FALSE(memory.get<std::uint64_t>(0x12ffc)) << "the next page is not present";
}

TEST(PresentMemory, ReadsUpToAPageThatVanished) {
    FakePages pages;
    pages.touch({0x10000, 0x20000});
    const PresentPages present = pages.present();
    PresentMemory memory(pages, present);
    pages.drop(0x12000);
    std::vector<std::byte> bytes(0x10000);
    const std::size_t got = memory.read_some(0x10100, bytes);
    EXPECT_GT(got, 0U);
    EXPECT_LE(got, 0x1f00U);
    EXPECT_EQ(memory.read_some(0x12000, bytes), 0U);
    EXPECT_EQ(memory.read_some(0x30000, bytes), 0U);
}

TEST(PresentMemory, GathersWordsOfPresentPages) {
    FakePages pages;
    std::vector<std::uint64_t> addresses;
    addresses.reserve(2000);
    for (std::uint64_t i = 0; i < 2000; ++i) addresses.push_back(0x100000 + i * 4096);
    for (std::uint64_t i = 0; i < 2000; i += 3) pages.put(addresses[i], i + 1);
    const PresentPages present = pages.present();
    PresentMemory memory(pages, present);
    const auto words = memory.gather<std::uint64_t>(addresses);
    for (std::uint64_t i = 0; i < 2000; ++i) EXPECT_EQ(words[i], i % 3 == 0 ? std::optional(i + 1) : std::nullopt) << i;
}

TEST(SharedPages, OfAForkedProcessAreThoseThatItHasNotWritten) {
    constexpr std::size_t kPages = 16;
    OwnPages pages(kPages);
    for (std::size_t i = 0; i < kPages; ++i) pages.touch(i);
    int ready[2], end[2];
    ASSERT_EQ(::pipe(ready), 0);
    ASSERT_EQ(::pipe(end), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        for (const std::size_t written : {3, 4, 9}) *static_cast<volatile char*>(pages.page(written)) = 7;
        char byte = 0;
        ::close(end[1]);
        (void)!::write(ready[1], &byte, 1);
        (void)!::read(end[0], &byte, 1);  // until the parent closes its end
        ::_exit(0);
    }
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    const Fd directory = *open_directory("/proc/" + std::to_string(child));
    const PresentPages all({{pages.address(0), pages.address(0) + kPages * kPage}});
    Pace pace;
    const PresentPages shared = read_shared_pages(directory, all, 1 << 20, pace, ReadDeadline(kLong));
    for (const int fd : {ready[0], ready[1], end[0], end[1]}) ::close(fd);
    ::waitpid(child, nullptr, 0);
    for (std::size_t i = 0; i < kPages; ++i)
        EXPECT_EQ(shared.contains(pages.address(i)), i != 3 && i != 4 && i != 9) << i;
    EXPECT_EQ(shared.total(), (kPages - 3) * kPage);
    Pace own;
    EXPECT_EQ(read_shared_pages(*open_directory("/proc/self"), all, 1 << 20, own, ReadDeadline(kLong)).total(), 0U)
        << "the child has ended, so no page is shared any more";
}

TEST(ProcessSource, ReadingDoesNotEndTheSharingOfPagesAfterAFork) {
    constexpr std::size_t kPages = 16;
    OwnPages pages(kPages);
    for (std::size_t i = 0; i < kPages; ++i) pages.touch(i);
    int end[2];
    ASSERT_EQ(::pipe(end), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        char byte = 0;
        ::close(end[1]);
        (void)!::read(end[0], &byte, 1);  // until the parent closes its end
        ::_exit(0);
    }
    const Fd directory = *open_directory("/proc/" + std::to_string(child));
    const PresentPages all({{pages.address(0), pages.address(0) + kPages * kPage}});
    Pace pace;
    const auto shared = [&] {
        return read_shared_pages(directory, all, 1 << 20, pace, ReadDeadline(kLong)).total() / kPage;
    };
    const std::uint64_t before = shared();
    auto source = ProcessSource::open(directory, child, pace);
    ASSERT_TRUE(source);
    std::vector<std::byte> bytes(kPages * kPage);
    std::array<MemorySource::Piece, 2> pieces{MemorySource::Piece{pages.address(0), std::span(bytes).first(kPage)},
                                              {pages.address(1), std::span(bytes).subspan(kPage)}};
    source->read(pieces);
    const std::uint64_t after = shared();
    for (const int fd : {end[0], end[1]}) ::close(fd);
    ::waitpid(child, nullptr, 0);
    EXPECT_EQ(before, kPages);
    EXPECT_EQ(after, kPages) << "process_vm_readv copies pages that are shared";
    for (std::size_t i = 0; i < kPages; ++i) EXPECT_EQ(bytes[i * kPage], static_cast<std::byte>(i));
}

}  // namespace present_memory_test
}  // namespace memscope
