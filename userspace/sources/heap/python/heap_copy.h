#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "sources/heap/heap_range.h"
#include "sources/heap/present_memory.h"
#include "sources/proc/process_maps.h"

namespace memscope {

using Address = std::uint64_t;

// Which pages are copied, and where to. An open hash table, because it is asked for almost every word that is read.
class CopiedPages {
  public:
    CopiedPages() : table_(kLeast) {}
    std::byte* find(std::uint64_t page) const {  // null: not copied
        for (std::size_t at = place(page);; at = (at + 1) & mask())
            if (table_[at].bytes == nullptr || table_[at].page == page) return table_[at].bytes;
    }
    void set(std::uint64_t page, std::byte* bytes);
    void erase(std::uint64_t page);

  private:
    static constexpr std::size_t kLeast = 1 << 14;
    struct Entry {
        std::uint64_t page = 0;
        std::byte* bytes = nullptr;
    };
    std::size_t mask() const { return table_.size() - 1; }
    std::size_t place(std::uint64_t page) const { return (page * 0x9E3779B97F4A7C15U >> 20U) & mask(); }
    std::vector<Entry> table_;
    std::size_t used_ = 0;
};

// A copy of pages of a process, up to a limit. A page is copied when it is first used, and its copy does not change
// later. At the limit the oldest copies are dropped; such a page is copied again at its next use. The bytes can be
// inconsistent, because the process changes them during the copy, or forges them. A byte that cannot be read is 0.
class HeapCopy {
  public:
    static constexpr std::uint64_t kPage = 4096;
    static constexpr std::uint64_t kUnit = 4 * kPage;  // of copy(): a pool of Python's allocator
    // Reads a part of the file of a mapping. False if it cannot be read.
    using ReadFile = std::function<bool(const MappedRange&, std::uint64_t offset, std::span<std::byte> into)>;

    // `read_file` is used for pages of read-only mappings that are not present: names of C types and of C++ classes
    // are there. It may be empty.
    HeapCopy(MemorySource& source, const ProcessMaps& maps, std::uint64_t most_bytes, const ReadDeadline& deadline,
             ReadFile read_file = {});

    std::uint64_t word(Address address) {
        if (address % sizeof(std::uint64_t) != 0) return 0;
        std::uint64_t value;
        std::memcpy(&value, at(address), sizeof value);
        return value;
    }
    // 0 if the value crosses a page. Aligned fields never do.
    template <class T>
    T get(Address address) {
        static_assert(std::is_trivially_copyable_v<T>);
        T value{};
        if (address % kPage + sizeof value <= kPage) std::memcpy(&value, at(address), sizeof value);
        return value;
    }
    void read(Address address, std::span<std::byte> into);
    std::string c_string(Address address, std::size_t most);  // empty if it has control characters

    // Calls visit(index, word) for `count` words. Returns the number of pages that cannot be read and are left out.
    template <class Visit>
    std::uint64_t for_words(Address address, std::uint64_t count, Visit&& visit) {
        std::uint64_t absent = 0;
        if (address % sizeof(std::uint64_t) != 0) return absent;
        for (std::uint64_t i = 0; i < count;) {
            const Address here = address + 8 * i;
            const std::uint64_t in_page = std::min(count - i, (kPage - here % kPage) / 8);
            if (late()) return absent;
            if (!is_present(here)) {
                ++absent;
                i += in_page;
                continue;
            }
            for (const std::uint64_t end = i + in_page; i < end; ++i) visit(i, word(address + 8 * i));
        }
        return absent;
    }

    bool has_copy_of(Address address) const { return pages_.find(address / kPage) != nullptr; }
    bool is_present(Address address) { return page_at(address) != zeros_.data(); }
    // Whether the whole range lies in one mapping that can be read. A mapping that is newer than the list of mappings,
    // or has grown since, counts if both ends are present.
    bool is_mapped(Address address, std::uint64_t bytes);
    // Whether both ends lie in mappings, which need not be readable.
    bool is_claimed(Address address, std::uint64_t bytes);
    const ProcessMaps& maps() const { return maps_; }
    // The mapping that contains the address. Null: there is none.
    const MappedRange* range_at(Address address) {
        const MappedRange*& recent = recent_ranges_[(address >> 21U) % recent_ranges_.size()];
        if (recent == nullptr || address < recent->start || address >= recent->end) {
            const MappedRange* found = maps_.at(address);
            if (found == nullptr) return nullptr;
            recent = found;
        }
        return recent;
    }

    // Copies these ranges now. The shorter the time is, the less is torn. Returns the number of pages that could not be
    // read. `once`: they are not needed for long, so the next ones replace them, and other copies stay.
    enum class Use { often, once };
    std::uint64_t copy(std::span<const HeapRange> ranges, Use use = Use::often);
    // Copies the pages at these addresses that have no copy yet with few system calls, because they are needed soon,
    // and only once. They replace the pages of earlier calls.
    void prefetch(std::vector<Address>& addresses);
    // Reads without a copy, for memory that is needed once.
    bool read_past(Address address, std::span<std::byte> into);
    // Reads these bytes again, and corrects the copy where there is one.
    void copy_again(std::span<const HeapRange> ranges);
    // The first words of each of these objects as they are now, without a copy. Zeros: they could not be read.
    using Head = std::array<std::uint64_t, 4>;
    std::vector<Head> heads_now(std::span<const Address> objects);
    // Overwrites the copy of these bytes. Does nothing if there is no copy.
    void correct(Address address, std::span<const std::byte> bytes);
    // Drops the copy of all pages of the range, so that they are copied again at their next use.
    void forget(const HeapRange& range);

    void limit_to(std::uint64_t most_bytes);
    std::uint64_t limit() const { return often_.most * kSlab; }
    bool late() {  // the clock is read once in a while
        if (!late_ && ++asked_ % 64 == 0) late_ = deadline_.has_passed();
        return late_;
    }
    void extend(const ReadDeadline& deadline) {
        deadline_ = deadline;
        late_ = false;
    }

  private:
    static constexpr std::uint64_t kSlab = std::uint64_t{2} << 20;  // a large page of the CPU
    static constexpr std::size_t kAhead = 2;  // pages that are read at once, because neighbours are often needed, too
    static constexpr std::size_t kLines = 1 << 15;
    static constexpr std::uint64_t kNoPage = ~std::uint64_t{0};
    struct Line {
        std::uint64_t page = kNoPage;
        const std::byte* bytes = nullptr;
    };
    struct Unmap {
        void operator()(std::byte* slab) const;
    };
    static std::byte* map_slab();
    struct Slab {
        std::unique_ptr<std::byte[], Unmap> bytes{};
        std::vector<std::uint64_t> pages{};  // in the order of their copies
    };
    struct Ring {
        std::size_t most = 0;      // slabs
        std::deque<Slab> slabs{};  // oldest first
        std::size_t used_in_last = 0;
    };

    const std::byte* page_at(Address address) {
        const std::uint64_t page = address / kPage;
        const Line& line = lines_[page % kLines];
        return line.page == page ? line.bytes : find(page);
    }
    const std::byte* at(Address address) { return page_at(address) + address % kPage; }
    const std::byte* find(std::uint64_t page);
    std::uint64_t& absent_at(std::uint64_t page) { return absent_[page * 0x9E3779B97F4A7C15U >> (64 - kAbsentBits)]; }
    void load(std::uint64_t page);
    bool may_read(Address address);
    bool read_from_file(std::uint64_t page, std::span<std::byte> into);
    std::byte* room(Ring& ring, std::size_t pages);  // in the newest slab
    void keep(Ring& ring, std::uint64_t page, std::byte* bytes);
    Slab take_oldest(Ring& ring);

    MemorySource& source_;
    const ProcessMaps& maps_;
    ReadDeadline deadline_;
    ReadFile read_file_;
    Ring often_{};
    Ring once_{.most = 2};
    Ring soon_{.most = 2};
    CopiedPages pages_{};
    std::vector<Line> lines_;
    std::vector<std::byte> zeros_;
    static constexpr unsigned kAbsentBits = 14;
    std::vector<std::uint64_t> absent_;  // pages that could not be read: words that are no addresses lead there
    const MappedRange* last_range_ = nullptr;
    std::array<const MappedRange*, 1024> recent_ranges_{};  // a search through thousands of mappings takes long
    std::uint64_t asked_ = 0;
    bool late_ = false;
};

}  // namespace memscope
