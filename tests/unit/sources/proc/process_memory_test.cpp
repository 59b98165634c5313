#include "sources/proc/process_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/fake_memory.h"

namespace memscope {
namespace process_memory_test {

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

TEST(MemoryOfAProcess, IsReadAsItIs) {
    const std::uint64_t value = 0x1122334455667788;
    const auto memory = ProcessMemory::of(::getpid());
    EXPECT_EQ(*memory.read<std::uint64_t>(address_of(&value)), value);
    EXPECT_EQ(*memory.read<std::uint8_t>(address_of(&value) + 1), 0x77);
    const auto bytes = memory.read(address_of(&value), 3);
    ASSERT_TRUE(bytes);
    EXPECT_EQ(bytes->size(), 3U);
    EXPECT_EQ((*bytes)[2], std::byte{0x66});
    EXPECT_TRUE(memory.read(0, 0)->empty());
}

TEST(MemoryOfAProcess, FailsAtUnmappedAddresses) {
    const auto memory = ProcessMemory::of(::getpid());
    for (const std::uint64_t address : {0ULL, 1ULL, ~0ULL, ~0ULL - 7, 1ULL << 63U})
        EXPECT_EQ(memory.read<std::uint64_t>(address).error().code, std::errc::bad_address) << address;
}

TEST(MemoryOfAProcess, IsReadWholeOrNotAtAll) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* two = ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(two, MAP_FAILED);
    ::mprotect(static_cast<char*>(two) + page, page, PROT_NONE);
    const auto memory = ProcessMemory::of(::getpid());
    EXPECT_TRUE(memory.read<std::uint64_t>(address_of(two) + page - 8));
    EXPECT_FALSE(memory.read<std::uint64_t>(address_of(two) + page - 4));
    ::munmap(two, 2 * page);
}

TEST(MemoryOfAProcess, IsReadWithABound) {
    const ProcessMemory memory([](std::uint64_t, std::span<std::byte>) -> Status { return Done{}; });
    EXPECT_TRUE(memory.read(4096, ProcessMemory::kReadLimit));
    EXPECT_EQ(memory.read(4096, ProcessMemory::kReadLimit + 1).error().code, std::errc::argument_list_too_long);
    EXPECT_FALSE(memory.read(4096, ~std::size_t{0}));
}

TEST(MemoryOfAProcess, IsAnErrorWhenTheProcessIsGone) {
    constexpr pid_t kNobody = 1 << 23;  // larger than any pid of the kernel
    const auto value = ProcessMemory::of(kNobody).read<int>(4096);
    ASSERT_FALSE(value);
    EXPECT_EQ(value.error().code, std::errc::no_such_process);
    EXPECT_NE(value.error().message().find(std::to_string(kNobody)), std::string::npos);
}

}  // namespace process_memory_test
}  // namespace memscope
