// Many page faults: memory is mapped, touched page by page and unmapped. For each line that it receives it does one
// round and prints its CPU time.
#include <cstdio>
#include <ctime>
#include <sys/mman.h>

namespace {

constexpr std::size_t kBytes = 64 << 20, kPage = 4096;
constexpr int kTimes = 3;

bool map_touch_unmap() {
    void* memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || ::madvise(memory, kBytes, MADV_NOHUGEPAGE) != 0) return false;
    for (std::size_t at = 0; at < kBytes; at += kPage) static_cast<volatile char*>(memory)[at] = 1;
    return ::munmap(memory, kBytes) == 0;
}

double cpu_ms() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

}  // namespace

int main() {
    char line[16];
    while (std::fgets(line, sizeof line, stdin)) {
        const double before = cpu_ms();
        for (int i = 0; i < kTimes; ++i)
            if (!map_touch_unmap()) return 1;
        std::printf("cpu_ms %.6f\n", cpu_ms() - before);
        std::fflush(stdout);
    }
}
