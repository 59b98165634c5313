// A valid heap, in which the input changes some words. No content of a process's memory may crash the readers or keep
// them busy for long.
#include "fuzz.h"
#include "sources/heap/address_claims.h"
#include "sources/heap/allocators.h"
#include "sources/heap/glibc_arenas.h"
#include "sources/heap/glibc_free.h"
#include "sources/heap/glibc_tcache.h"
#include "sources/heap/pymalloc.h"
#include "sources/heap/thread_stacks.h"
#include "support/fake_heap.h"

namespace memscope::fuzz {
namespace {

constexpr std::uint64_t kArray = 0x5556'0000'1010;
constexpr std::uint64_t kPools = 0x7d00'0000'0000;
constexpr std::uint64_t kStacks = 0x7c00'0000'0000;
constexpr std::uint64_t kStackBytes = 0x10000;
constexpr std::uint64_t kThreadList = FakeGlibc::kLibrary + 0x3000;
constexpr std::uint64_t kArenasWord = FakeGlibc::kLibrary + 0x4000;
constexpr std::size_t kChunks = 40;

struct Process {
    explicit Process(Input& input) : glibc(kFakeLayouts[input.number() % std::size(kFakeLayouts)]) {
        const std::size_t others = input.number() % 3;
        for (std::size_t i = 0; i < others; ++i) glibc.add_arena();
        for (std::size_t arena = 0; arena <= others; ++arena) {
            places.push_back(glibc.add(0x290, FakeUse::used, arena));
            for (std::size_t i = 0; i < kChunks; ++i) {
                const std::uint8_t kind = input.number();
                const bool fast = kind % 4 == 1 && glibc.layout().bins_offset > 100;
                const std::uint64_t size = fast ? 32 + 16 * (kind % 5) : 48 + 16 * (std::uint64_t{kind} * 5);
                const bool before_was_free = i > 0 && kind % 4 == 0 && last_free;
                last_free = kind % 4 == 0 && !before_was_free;
                places.push_back(glibc.add(size,
                                           fast        ? FakeUse::in_fastbin
                                           : last_free ? FakeUse::in_bin
                                                       : FakeUse::used,
                                           arena));
            }
            places.push_back(glibc.add(64, FakeUse::used, arena));
            last_free = false;
        }
        glibc.mmapped = 0x10000;
        glibc.finish(0x2000);
        add_threads();
        add_python();
        add_mapped_block();
        for (std::uint64_t bin = 1; bin <= kGlibcBins; bin += 9) places.push_back(glibc.bin_address(bin));
        for (std::size_t arena = 0; arena <= others; ++arena)
            for (const std::uint64_t member : {2048, 2064, 2072})
                places.push_back(glibc.bin_address(1, arena) + member);
        for (const std::uint64_t place :
             {FakeGlibc::kParameters, kThreadList, kArenasWord, kArray, kPools, kStacks + 0xc000})
            places.push_back(place);
    }

    // Each mutation has the place of a word and its new value.
    void spoil(Input& input) {
        for (int i = 0; i < 64 && !input.empty(); ++i) {
            const std::uint64_t place =
                places[input.number<std::uint16_t>() % places.size()] + 8 * (input.number() % 8);
            const std::uint64_t other = places[input.number<std::uint16_t>() % places.size()];
            switch (input.number() % 8) {
                case 0:
                    glibc.pages.put(place, input.number<std::uint64_t>());
                    break;
                case 1:
                    glibc.pages.put(place, other);
                    break;
                case 2:
                    glibc.pages.put(place, place);
                    break;
                case 3:
                    glibc.pages.put(place, glibc.pages.at(place) ^ std::uint64_t{1} << (input.number() % 64));
                    break;
                case 4:
                    glibc.pages.put(place, ~std::uint64_t{0} << (input.number() % 64));
                    break;
                case 5:
                    glibc.pages.put(place, glibc.pages.at(place) + 16 * std::uint64_t{input.number()} - 2048);
                    break;
                case 6:
                    glibc.pages.put(place, (other + 16) ^ ((place + 16) >> 12));
                    break;
                case 7:
                    glibc.pages.drop(place);
                    break;
            }
        }
    }

    FakeGlibc glibc;
    std::vector<std::uint64_t> places{};  // words that matter

  private:
    void add_threads() {
        for (std::uint64_t i = 0; i < 3; ++i) {
            const std::uint64_t stack = kStacks + i * kStackBytes, node = stack + 0xc000;
            glibc.pages.touch({stack, stack + kStackBytes});
            glibc.pages.put(node, i < 2 ? node + kStackBytes : kThreadList);
            glibc.pages.put(node + 8, i > 0 ? node - kStackBytes : kThreadList);
            glibc.pages.put(node + 16, 100 + i);
            glibc.pages.put(node + 0x100, stack);
            glibc.pages.put(node + 0x108, kStackBytes);
            glibc.pages.put(node - 0x200, places.front() + 16);  // tcache
            places.push_back(node);
        }
        glibc.pages.put(kThreadList, kStacks + 0xc000);
        glibc.pages.put(kThreadList + 8, kStacks + 2 * kStackBytes + 0xc000);
        glibc.pages.put(places.front() + 16 + 128 + 8, places[1] + 16);
    }
    void add_python() {
        glibc.pages.touch({kArray - 16, kArray + 16 * 48});
        glibc.pages.put(kArray - 8, (16 * 48 + 16) | 1);
        glibc.pages.put(kArenasWord, kArray);
        glibc.pages.put(kArray, kPools);
        glibc.pages.put(kArray + 8, kPools);
        glibc.pages.put(kArray + 16, std::uint64_t{64} << 32);
        for (std::uint64_t i = 0; i < 4; ++i) {
            const std::uint64_t pool = kPools + i * 16384;
            glibc.pages.put(pool, 10 * i);
            glibc.pages.put(pool + 32, std::uint64_t{3} << 32);
            glibc.pages.put(pool + 40, 48 | std::uint64_t{16384 - 64} << 32);
            places.push_back(pool);
        }
    }
    void add_mapped_block() {
        constexpr std::uint64_t kBlock = 0x7b00'0000'0000;
        MappedRange range;
        range.start = kBlock;
        range.end = kBlock + 0x20000;
        range.readable = range.writable = true;
        glibc.maps.ranges.push_back(range);
        std::sort(glibc.maps.ranges.begin(), glibc.maps.ranges.end());
        glibc.pages.touch({kBlock, kBlock + 0x20000});
        glibc.pages.put(kBlock + 0x8000 + 8, 0x10000 | kChunkIsMapped);
        places.push_back(kBlock);
        places.push_back(kBlock + 0x8000);
    }
    bool last_free = false;
};

void require_apart(const std::vector<HeapRange>& ranges) {
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        require(ranges[i].start < ranges[i].end, "a range is not empty");
        require(i == 0 || ranges[i - 1].end <= ranges[i].start, "ranges are sorted and disjoint");
    }
}

}  // namespace

void one(std::string_view bytes) {
    constexpr std::uint64_t kMostReads = 2'000'000;
    Input input(bytes);
    Process process(input);
    process.spoil(input);
    FakeGlibc& glibc = process.glibc;
    const PresentPages pages = glibc.pages.present();
    PresentMemory memory(glibc.pages, pages);
    const ReadDeadline deadline(Seconds{2});
    const auto data = read_library_data(memory, glibc.maps, "/lib/libc.so.6");
    const auto version = input.flag() ? std::nullopt : std::optional(glibc.layout().version);
    const auto threads = find_threads(data, memory, deadline).all;
    if (const auto python =
            read_pymalloc(data, input.flag() ? MallocHeads::glibc : MallocHeads::unknown, memory, deadline)) {
        require_apart(python->arenas);
        require(python->free_blocks + python->free_pools <= pages.total(), "free blocks are present");
    }
    if (const auto found = find_glibc_malloc(data, version, memory, glibc.maps, deadline)) {
        require(!found->arenas.empty() && found->arenas.front().main, "the main arena is the first");
        count_inconsistent_arenas(*found);
        const TcacheChunks tcaches = find_tcaches(*found, threads, memory, deadline);
        const FreeLimits limits{.deadline = deadline, .most_chunks = 1000};
        for (const FreeMethod method : {FreeMethod::lists, FreeMethod::walk, FreeMethod::sample}) {
            const GlibcFree free = find_glibc_free_by(method, *found, tcaches, memory, limits);
            if (method == FreeMethod::lists)
                require(free.chunks <= 1000 + kGlibcBins * 2 * found->arenas.size(), "chunks are bounded");
        }
        find_glibc_free(*found, tcaches, memory, limits);
        AddressClaims claims;
        for (const GlibcArena& arena : found->arenas)
            for (const HeapRange& heap : arena.heaps) claims.add(heap, HeapOwner::arena);
        for (const GlibcThread& thread : threads) claims.add(thread.stack, HeapOwner::stack);
        const auto blocks = find_mapped_blocks(*found, memory, glibc.maps, claims.ranges(), deadline);
        require_apart(blocks);
        for (const HeapRange& block : blocks)
            require(claims.add(block, HeapOwner::mapped_block), "a block belongs to nobody else");
        for (const MappedRange& range : glibc.maps.ranges)
            require(claims.unclaimed({range.start, range.end}, pages) <= range.end - range.start, "the rest is a part");
    }
    require(glibc.pages.reads < kMostReads, "the number of reads is bounded");
}

}  // namespace memscope::fuzz
