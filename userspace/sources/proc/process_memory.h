#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <sys/types.h>
#include <type_traits>
#include <vector>

#include "base/result.h"

namespace memscope {

// Reads memory of a process up to the first page that is not mapped. Returns the number of bytes, at least 1.
Result<std::size_t> read_process_memory(pid_t pid, std::uint64_t address, std::span<std::byte> into);

// Memory of another process. It can be unmapped, change during the read, or be crafted to mislead memscope.
class ProcessMemory {
  public:
    static constexpr std::size_t kReadLimit = std::size_t{1} << 20;

    // Fills all of `into` or fails. Tests pass a reader of made-up memory.
    using Reader = std::function<Status(std::uint64_t address, std::span<std::byte> into)>;
    explicit ProcessMemory(Reader reader) : reader_(std::move(reader)) {}
    static ProcessMemory of(pid_t pid);  // needs CAP_SYS_PTRACE for processes of other users

    template <class T>
    Result<T> read(std::uint64_t address) const {
        static_assert(std::is_trivially_copyable_v<T>);
        T value{};
        if (const auto done = reader_(address, std::as_writable_bytes(std::span(&value, 1))); !done)
            return done.error();
        return value;
    }
    Result<std::vector<std::byte>> read(std::uint64_t address, std::size_t bytes) const;  // at most kReadLimit

  private:
    Reader reader_;
};

}  // namespace memscope
