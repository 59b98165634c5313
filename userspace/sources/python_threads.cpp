#include "sources/python_threads.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/text.h"

namespace memscope {
namespace {

constexpr std::size_t kThreadsLooked = 64;
constexpr std::size_t kPthreadBytes = 2048;  // glibc's is a little longer, and has it in its first quarter
constexpr std::size_t kPiece = 256;          // it may lie at the end of what is mapped

std::vector<std::uint64_t> pthreads_of(const ProcessMemory& memory, const ms_python& layout, std::uint64_t thread) {
    std::vector<std::uint64_t> pthreads;
    for (std::size_t i = 0; i < kThreadsLooked && thread != 0; ++i) {
        const auto pthread = memory.read<std::uint64_t>(thread + layout.thread_id);
        const auto next = memory.read<std::uint64_t>(thread + layout.thread_next);
        if (!pthread || !next) break;
        if (*pthread != 0) pthreads.push_back(*pthread);
        thread = *next;
    }
    return pthreads;
}

std::vector<std::byte> bytes_of_pthread(const ProcessMemory& memory, std::uint64_t pthread) {
    std::vector<std::byte> bytes;
    while (bytes.size() < kPthreadBytes) {
        const auto piece = memory.read(pthread + bytes.size(), kPiece);
        if (!piece) break;
        bytes.insert(bytes.end(), piece->begin(), piece->end());
    }
    return bytes;
}

}  // namespace

std::optional<pid_t> parse_own_pid(std::string_view status) {
    std::optional<pid_t> pid;
    for_each_line(status, [&](std::string_view line) {
        constexpr std::string_view kKey = "NSpid:";  // outermost first
        constexpr std::size_t kMostDigits = 9;
        if (!line.starts_with(kKey)) return;
        const std::string_view last = split(trimmed(line.substr(kKey.size())), '\t').back();
        const auto number = parse_number(last);
        if (number && last.size() <= kMostDigits) pid = static_cast<pid_t>(*number);
    });
    return pid;
}

Result<std::uint64_t> first_python_thread(const ProcessMemory& memory, const ms_python& layout) {
    auto interpreter = memory.read<std::uint64_t>(layout.runtime + layout.runtime_interpreters);
    if (!interpreter || *interpreter == 0) return interpreter;
    return memory.read<std::uint64_t>(*interpreter + layout.interpreter_threads);
}

std::optional<std::uint16_t> find_pthread_tid(const ProcessMemory& memory, const ms_python& layout,
                                              std::uint64_t first_thread, pid_t main_tid) {
    std::vector<std::vector<std::byte>> pthreads;
    for (const std::uint64_t pthread : pthreads_of(memory, layout, first_thread))
        pthreads.push_back(bytes_of_pthread(memory, pthread));
    const auto tid_at = [](const std::vector<std::byte>& bytes, std::size_t offset) {
        std::uint32_t tid = 0;
        if (offset + sizeof tid <= bytes.size()) std::memcpy(&tid, bytes.data() + offset, sizeof tid);
        return tid;
    };
    // Older C libraries keep the process id next to it, the same in all threads.
    for (std::size_t offset = sizeof(std::uint32_t); offset < kPthreadBytes; offset += sizeof(std::uint32_t)) {
        const auto main_ones = std::count_if(pthreads.begin(), pthreads.end(), [&](const auto& bytes) {
            return tid_at(bytes, offset) == static_cast<std::uint32_t>(main_tid);
        });
        if (main_ones == 1) return static_cast<std::uint16_t>(offset);
    }
    return std::nullopt;
}

}  // namespace memscope
