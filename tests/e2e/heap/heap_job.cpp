// A process whose heap is known: heap_job SCENARIO. It reports the figures of its own malloc after each line that it
// reads: "trim" calls malloc_trim(0) before. mallinfo2() is glibc 2.33 and later; older ones report 32-bit numbers.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <random>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

std::mt19937 random_number(7);
std::size_t between(std::size_t least, std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(least, most)(random_number);
}
char* block(std::size_t bytes) {
    char* made = static_cast<char*>(std::malloc(bytes));
    std::memset(made, 1, bytes);
    return made;
}

std::vector<char*> kept;
std::vector<std::thread> threads;
std::atomic<int> ready{0};

void free_some(std::vector<char*>& blocks, std::size_t one_kept_of) {
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        if (i % one_kept_of == 0)
            kept.push_back(blocks[i]);
        else
            std::free(blocks[i]);
    }
}

void fragmented() {
    std::vector<char*> blocks;
    for (int i = 0; i < 6000; ++i) blocks.push_back(block(between(1000, 60000)));
    free_some(blocks, 10);
}
void scattered() {  // a mapping is in the way of brk(), so malloc maps its heap elsewhere
    const auto end = (reinterpret_cast<std::uintptr_t>(sbrk(0)) + (1 << 20)) & ~std::uintptr_t{0xffff};
    (void)mmap(reinterpret_cast<void*>(end), 65536, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
               0);
    fragmented();
}
void pieces() {  // free chunks that are smaller than a page
    std::vector<char*> blocks;
    for (int i = 0; i < 200000; ++i) blocks.push_back(block(between(150, 700)));
    free_some(blocks, 2);
}
void small() {  // chunks for tcaches and fastbins
    std::vector<char*> blocks;
    for (int i = 0; i < 300000; ++i) blocks.push_back(block(between(16, 100)));
    free_some(blocks, 3);
}
void mapped() {
    mallopt(M_MMAP_THRESHOLD, 256 << 10);
    for (int i = 0; i < 40; ++i) kept.push_back(block(between(300 << 10, 4 << 20)));
    // Memory that belongs to no allocator. The kernel merges it with the mappings of the blocks.
    char* other =
        static_cast<char*>(mmap(nullptr, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memset(other, 1, 8 << 20);
    for (int i = 0; i < 10; ++i) kept.push_back(block(between(300 << 10, 4 << 20)));
}
void arenas() {
    for (int i = 0; i < 24; ++i)
        threads.emplace_back([i] {
            std::mt19937 own(static_cast<unsigned>(i));
            std::vector<char*> blocks;
            for (int j = 0; j < 1500; ++j) blocks.push_back(block(200 + own() % 8000));
            for (std::size_t j = 0; j < blocks.size(); ++j)
                if (j % 20 != 0) std::free(blocks[j]);
            ++ready;
            pause();
        });
    while (ready < 24) usleep(1000);
}
void busy() {  // 100 MiB stay, and two threads allocate as fast as they can
    for (int i = 0; i < 2000; ++i) kept.push_back(block(52000));
    for (int i = 0; i < 2; ++i)
        threads.emplace_back([i] {
            std::mt19937 own(static_cast<unsigned>(i));
            std::vector<char*> blocks(2000);
            ++ready;
            for (;;) {
                for (char*& each : blocks) *(each = static_cast<char*>(std::malloc(100 + own() % 5000))) = 1;
                for (char* each : blocks) std::free(each);
            }
        });
    while (ready < 2) usleep(1000);
}
void maps() {  // maps and unmaps as fast as it can, and counts
    for (int i = 0; i < 20000; ++i) kept.push_back(block(25000));
    threads.emplace_back([] {
        for (;;) {
            char* made =
                static_cast<char*>(mmap(nullptr, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
            *made = 1;
            munmap(made, 65536);
            ++ready;
        }
    });
}

unsigned long anonymous_kib() {
    FILE* file = std::fopen("/proc/self/status", "r");
    char line[256];
    unsigned long kib = 0;
    while (file && std::fgets(line, sizeof line, file))
        if (std::sscanf(line, "RssAnon: %lu", &kib) == 1) break;
    if (file) std::fclose(file);
    return kib;
}

void report() {
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
    const struct mallinfo2 info = mallinfo2();
#else
    const struct mallinfo info = mallinfo();
#endif
    std::printf("{\"anon\": %lu, \"used\": %zu, \"free\": %zu, \"mapped\": %zu, \"count\": %d}\n",
                anonymous_kib() << 10, static_cast<std::size_t>(info.uordblks), static_cast<std::size_t>(info.fordblks),
                static_cast<std::size_t>(info.hblkhd), ready.load());
    std::fflush(stdout);
}

}  // namespace

int main(int, char** words) {
    const std::string scenario = words[1];
    static char in[4096], out[4096];  // so that stdio allocates nothing
    std::setvbuf(stdin, in, _IOFBF, sizeof in);
    std::setvbuf(stdout, out, _IOFBF, sizeof out);
    const std::pair<const char*, void (*)()> scenarios[] = {
        {"fragmented", fragmented}, {"scattered", scattered}, {"pieces", pieces}, {"small", small},
        {"mapped", mapped},         {"arenas", arenas},       {"busy", busy},     {"maps", maps}};
    for (const auto& [name, run] : scenarios)
        if (scenario == name) run();
    report();
    for (char line[64]; std::fgets(line, sizeof line, stdin);) {
        if (std::strncmp(line, "trim", 4) == 0) malloc_trim(0);
        report();
    }
    _exit(0);
}
