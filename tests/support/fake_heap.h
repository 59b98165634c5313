#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sources/heap/glibc_arenas.h"
#include "sources/heap/present_memory.h"

namespace memscope {

// Memory of a made-up process: pages with any content. A page that was never written is not present.
class FakePages : public MemorySource {
  public:
    static constexpr std::uint64_t kPage = 4096;

    void put(std::uint64_t address, std::uint64_t word) {
        if (address % sizeof word == 0) {  // it is in one page, and one search for that page is enough
            std::memcpy(&byte(address), &word, sizeof word);
            return;
        }
        for (std::size_t i = 0; i < sizeof word; ++i)
            byte(address + i) = static_cast<std::byte>(word >> (8 * i) & 0xFF);
    }
    std::uint64_t at(std::uint64_t address) {
        std::uint64_t word = 0;
        for (std::size_t i = 0; i < sizeof word; ++i) word |= static_cast<std::uint64_t>(byte(address + i)) << (8 * i);
        return word;
    }
    void touch(HeapRange range) {
        for (std::uint64_t page = rounded_down(range.start, kPage); page < range.end; page += kPage) pages_[page];
    }
    void drop(std::uint64_t address) { pages_.erase(rounded_down(address, kPage)); }

    PresentPages present() const {
        std::vector<HeapRange> runs;
        for (const auto& [page, bytes] : pages_) {
            if (runs.empty() || runs.back().end != page) runs.push_back({page, page});
            runs.back().end += kPage;
        }
        return PresentPages(runs);
    }

    void read(std::span<Piece> pieces) override {
        ++calls;
        if (calls == change_at && change) change();
        for (Piece& piece : pieces) {
            ++reads;
            piece.done = true;
            for (std::size_t i = 0; i < piece.into.size() && piece.done;) {
                const std::uint64_t address = piece.address + i;
                const auto page = pages_.find(rounded_down(address, kPage));
                if (page == pages_.end()) {
                    piece.done = false;
                    break;
                }
                const std::size_t part = std::min<std::size_t>(piece.into.size() - i, kPage - address % kPage);
                std::memcpy(piece.into.data() + i, page->second.data() + address % kPage, part);
                i += part;
            }
        }
    }

    std::uint64_t reads = 0;  // pieces
    std::uint64_t calls = 0;
    // Changes the memory before this call, as the process does while it is read.
    std::uint64_t change_at = 0;
    std::function<void()> change{};

  private:
    std::byte& byte(std::uint64_t address) { return pages_[rounded_down(address, kPage)][address % kPage]; }
    std::map<std::uint64_t, std::array<std::byte, kPage>> pages_{};
};

// What differs between the versions of glibc.
struct FakeGlibcLayout {
    GlibcVersion version{};
    std::uint64_t bins_offset = 112;  // 24: without fastbins
    std::uint64_t heap_head = 48;
    bool hidden_links = true;
};
inline constexpr FakeGlibcLayout kFakeLayouts[] = {
    {{2, 31}, 112, 32, false}, {{2, 34}, 112, 32, true}, {{2, 36}, 112, 48, true}, {{2, 43}, 24, 48, true}};

enum class FakeUse { used, in_bin, in_fastbin };

// A process with the malloc of glibc. Add chunks in the order of their addresses, then call finish().
class FakeGlibc {
  public:
    static constexpr std::uint64_t kLibrary = 0x7f00'0000'0000;
    static constexpr std::uint64_t kLibraryBytes = 0x8000;
    static constexpr std::uint64_t kMainArena = kLibrary + 0x400;
    static constexpr std::uint64_t kParameters = kLibrary + 0x2000;  // address of sbrk_base
    static constexpr std::uint64_t kHeap = 0x5555'0000'0000;
    static constexpr std::uint64_t kOtherHeaps = 0x7e00'0000'0000;  // 64 MiB apart

    explicit FakeGlibc(FakeGlibcLayout layout = kFakeLayouts[2]) : layout_(layout) {
        pages.touch({kLibrary, kLibrary + kLibraryBytes});
        arenas_.push_back({.address = kMainArena, .next_chunk = kHeap});
    }

    // Returns its number.
    std::size_t add_arena() {
        const std::uint64_t heap = kOtherHeaps + (arenas_.size() << 26);
        const std::uint64_t address = heap + layout_.heap_head;
        arenas_.push_back(
            {.address = address, .heap = heap, .next_chunk = rounded_up(address + layout_.bins_offset + 2088, 16)});
        return arenas_.size() - 1;
    }
    // Returns the address of the chunk.
    std::uint64_t add(std::uint64_t size, FakeUse use, std::size_t arena = 0) {
        Arena& owner = arenas_[arena];
        owner.chunks.push_back({owner.next_chunk, size, use});
        owner.next_chunk += size;
        return owner.chunks.back().address;
    }

    void finish(std::uint64_t top_size = 0x21000) {
        for (std::size_t i = 0; i < arenas_.size(); ++i) finish(i, top_size);
        put_parameters();
        maps.ranges.clear();
        add_range(kHeap, heap_end(0), "[heap]", 0);
        for (std::size_t i = 1; i < arenas_.size(); ++i) add_range(arenas_[i].heap, heap_end(i), "", 0);
        add_range(kLibrary, kLibrary + kLibraryBytes, "/lib/libc.so.6", 7);
    }

    std::uint64_t arena_address(std::size_t arena) const { return arenas_[arena].address; }
    std::uint64_t bin_address(std::uint64_t bin, std::size_t arena = 0) const {
        return arenas_[arena].address + layout_.bins_offset + 16 * (bin - 1);
    }
    std::uint64_t heap_end(std::size_t arena) const { return arenas_[arena].end; }
    std::uint64_t bytes(FakeUse use) const {
        std::uint64_t sum = 0;
        for (const Arena& arena : arenas_)
            for (const Chunk& chunk : arena.chunks) sum += chunk.use == use ? chunk.size : 0;
        return sum;
    }
    const FakeGlibcLayout& layout() const { return layout_; }

    FakePages pages{};
    ProcessMaps maps{};
    std::uint64_t mmapped = 0;

  private:
    struct Chunk {
        std::uint64_t address, size;
        FakeUse use;
    };
    struct Arena {
        std::uint64_t address = 0;
        std::uint64_t heap = 0;  // 0: the main arena
        std::uint64_t next_chunk = 0;
        std::uint64_t end = 0;
        std::vector<Chunk> chunks{};
    };

    static std::uint64_t bin_of(std::uint64_t size) {  // for the sizes of the tests
        if (size < 1024) return size >> 4;
        if (size >> 6 <= 48) return 48 + (size >> 6);
        if (size >> 9 <= 20) return 91 + (size >> 9);
        if (size >> 12 <= 10) return 110 + (size >> 12);
        return 119 + (size >> 15);
    }

    void add_range(std::uint64_t start, std::uint64_t end, std::string path, std::uint64_t inode) {
        MappedRange range;
        range.start = start;
        range.end = end;
        range.readable = range.writable = true;
        range.inode = inode;
        range.path = std::move(path);
        maps.ranges.push_back(std::move(range));
    }

    void put_parameters() {
        const bool old = layout_.version < GlibcVersion{2, 35};
        pages.put(kParameters - 16, mmapped);
        pages.put(kParameters - 8, mmapped);
        pages.put(kParameters, kHeap);
        pages.put(kParameters + 8, 64);
        pages.put(kParameters + 16, 1032);
        pages.put(kParameters + 24, 7);
        // n_mmaps, n_mmaps_max, max_n_mmaps, no_dyn_threshold as 32-bit numbers
        const auto put_int = [&](std::uint64_t before, std::uint32_t value) {
            const std::uint64_t address = kParameters - 16 - before, word = rounded_down(address, 8);
            const std::uint64_t shift = address % 8 * 8;
            pages.put(word, (pages.at(word) & ~(std::uint64_t{0xFFFFFFFF} << shift)) | std::uint64_t{value} << shift);
        };
        put_int(old ? 16 : 20, mmapped > 0 ? 1 : 0);
        put_int(old ? 12 : 16, 65536);
        put_int(old ? 8 : 12, mmapped > 0 ? 1 : 0);
    }

    void finish(std::size_t number, std::uint64_t top_size) {
        Arena& arena = arenas_[number];
        const std::uint64_t bins = arena.address + layout_.bins_offset;
        // The heap ends at the end of a page.
        arena.end = rounded_up(arena.next_chunk + top_size, FakePages::kPage);
        const std::uint64_t start = number == 0 ? kHeap : arena.heap;
        pages.touch({start, arena.end});
        pages.put(bins - 16, arena.next_chunk);  // top
        for (std::uint64_t bin = 1; bin <= kGlibcBins; ++bin) {
            const std::uint64_t self = bins + 16 * (bin - 1) - 16;
            pages.put(self + 16, self);
            pages.put(self + 24, self);
        }
        pages.put(bins + 2048, arenas_[(number + 1) % arenas_.size()].address);  // next
        pages.put(bins + 2072, arena.end - start);                               // system_mem
        if (number != 0) {
            pages.put(arena.heap, arena.address);
            pages.put(arena.heap + 8, 0);
            pages.put(arena.heap + 16, arena.end - start);
        }
        bool before_in_use = true;
        std::uint64_t size_before = 0;
        const std::uint64_t other = number == 0 ? 0 : kChunkOfOtherArena;
        for (const Chunk& chunk : arena.chunks) {
            const bool in_bin = chunk.use == FakeUse::in_bin;
            if (!before_in_use) pages.put(chunk.address, size_before);
            pages.put(chunk.address + 8, chunk.size | (before_in_use ? kChunkBeforeInUse : 0) | (in_bin ? 0 : other));
            pages.put(chunk.address + 16, 0x1111'1111'1111'1111);  // content of a used block
            if (in_bin) put_in_bin(bins + 16 * (bin_of(chunk.size) - 1) - 16, chunk.address);
            if (chunk.use == FakeUse::in_fastbin) put_in_fastbin(arena, chunk);
            before_in_use = !in_bin;
            size_before = chunk.size;
        }
        pages.put(arena.next_chunk + 8, (arena.end - arena.next_chunk) | kChunkBeforeInUse);
    }
    void put_in_bin(std::uint64_t head, std::uint64_t chunk) {
        const std::uint64_t first = pages.at(head + 16);
        pages.put(chunk + 16, first);
        pages.put(chunk + 24, head);
        pages.put(first + 24, chunk);
        pages.put(head + 16, chunk);
    }
    void put_in_fastbin(const Arena& arena, const Chunk& chunk) {
        const std::uint64_t head = arena.address + 16 + 8 * (chunk.size / 16 - 2);
        const std::uint64_t next = pages.at(head), place = chunk.address + 16;
        pages.put(place, layout_.hidden_links ? next ^ (place >> 12) : next);
        pages.put(head, chunk.address);
    }

    FakeGlibcLayout layout_;
    std::vector<Arena> arenas_{};
};

}  // namespace memscope
