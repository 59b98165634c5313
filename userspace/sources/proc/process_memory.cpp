#include "sources/proc/process_memory.h"

#include <bit>
#include <sys/uio.h>

namespace memscope {

Result<std::size_t> read_process_memory(pid_t pid, std::uint64_t address, std::span<std::byte> into) {
    const iovec local{.iov_base = into.data(), .iov_len = into.size()};
    const iovec remote{.iov_base = std::bit_cast<void*>(address), .iov_len = into.size()};
    const ssize_t n = ::process_vm_readv(pid, &local, 1, &remote, 1, 0);
    if (n > 0) return static_cast<std::size_t>(n);
    return system_error(n < 0 ? errno : EFAULT, "read memory of process " + std::to_string(pid));
}

ProcessMemory ProcessMemory::of(pid_t pid) {
    return ProcessMemory([pid](std::uint64_t address, std::span<std::byte> into) -> Status {
        const auto got = read_process_memory(pid, address, into);
        if (!got) return got.error();
        if (*got < into.size()) return system_error(EFAULT, "read memory of process " + std::to_string(pid));
        return Done{};
    });
}

Result<std::vector<std::byte>> ProcessMemory::read(std::uint64_t address, std::size_t bytes) const {
    if (bytes > kReadLimit) return system_error(E2BIG, "read " + std::to_string(bytes) + " bytes of a process");
    std::vector<std::byte> content(bytes);
    if (bytes == 0) return content;
    if (const auto done = reader_(address, content); !done) return done.error();
    return content;
}

}  // namespace memscope
