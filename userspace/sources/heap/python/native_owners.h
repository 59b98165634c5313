#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "model/heap/heap_objects.h"
#include "sources/heap/heap_window.h"
#include "sources/heap/native_blocks.h"
#include "sources/heap/python/dominators.h"
#include "sources/heap/python/object_graph.h"

namespace memscope {

// Who owns the live blocks of malloc that are neither objects of Python nor their buffers. References between objects
// decide first and alone (ObjectGraph). Words in blocks only place what these references do not reach.
//
// A word that points to a block can be stale, because memory that was not cleared since its last use points everywhere.
// Therefore words are judged by their field: of all blocks of one class (of C++, from the vtable; otherwise the field
// that points to the block, and its size) a pointer field is 0 or points to a live block. If more than 1 in 20 words of
// a field are something else, the field does not count as a pointer. Blocks are reached from the surest roots first,
// and what a sure root reaches does not change its owner for a less sure one.
class NativeOwners {
  public:
    using Number = NativeBlocks::Number;
    // Owner of a block: a place in the order of the dominators (0: several objects without a common owner), or one of
    // these.
    static constexpr std::uint32_t kNobody = ~std::uint32_t{0};
    static constexpr std::uint32_t kStack = kNobody - 1;             // of a thread
    static constexpr std::uint32_t kData = kNobody - 2;              // of a library
    static constexpr std::uint32_t kMapping = kNobody - 3;           // a mapping that no allocator owns
    static constexpr std::uint32_t kProbable = kNobody - 4;          // only uncertain words point to it
    static constexpr std::uint32_t kLost = std::uint32_t{1} << 31U;  // + number of a group

    NativeOwners(ObjectGraph& graph, NativeBlocks& blocks, MemorySource& source, const PresentPages& pages);

    // Reads the words of all blocks once, in the order of addresses.
    void read_words();
    struct Roots {
        std::span<const HeapRange> stacks{};
        std::span<const HeapRange> statics{};  // data of libraries
    };
    void find(const Dominators& dominators, const Roots& roots);

    std::uint32_t owner(Number block) const { return owner_[block]; }
    std::uint64_t resident(Number block) const;  // bytes
    // Large blocks without a sure owner that were freed since the blocks were listed: a job that makes a larger array
    // in each step frees the old one.
    std::unordered_set<Number> find_freed();
    const NativeUnreached& unreached() const { return unreached_; }
    // Objects of Python to which nothing refers, in blocks of their own.
    std::span<const Address> lost_objects() const { return lost_objects_; }
    bool is_complete() const { return !late_; }
    std::size_t memory() const;

  private:
    static constexpr std::size_t kFields =
        64;  // words of a block whose use is counted; the last one stands for the rest
    struct FieldUse {
        std::uint16_t live = 0, other = 0;
        void add(bool is_live) {
            std::uint16_t& count = is_live ? live : other;
            if (++count == 0xFFFF) {
                live /= 2;
                other /= 2;
            }
        }
        bool is_pointer() const { return live > 0 && other * 20U <= live; }
    };
    using Fields = std::array<FieldUse, kFields>;
    using Class = std::uint16_t;  // index in fields_; 0: none
    enum class Tier : std::uint8_t { none, python, stack, data, mapping, held, garbage, lost, probable };

    bool is_scanned(Number block) const {
        const NativeBlocks::Kind kind = blocks_.kind(block);
        return kind == NativeBlocks::Kind::raw || kind == NativeBlocks::Kind::cpp ||
               kind == NativeBlocks::Kind::mapping;
    }
    bool is_free_of_claims(Number block) const {
        const NativeBlocks::Kind kind = blocks_.kind(block);
        return kind == NativeBlocks::Kind::raw || (kind == NativeBlocks::Kind::mapping && blocks_.node(block) == 0);
    }
    void scan(Number block, Address limit);
    void scan_words(Number block, const std::byte* bytes, std::size_t size, std::size_t field, Fields* fields);
    bool looks_like_pointers(Number block, Address limit);
    bool is_class(Address first_word);
    Class class_by_key(std::uint64_t key, bool named);
    void note_vector(const std::byte* words, Number target);

    bool is_sure(Number from, std::uint32_t edge) const;
    void derive_class(Number block, std::uint64_t source, std::uint64_t field);
    void count_use(Number block);
    void visit(Number block, std::uint32_t owner, Tier tier);
    std::uint32_t common(std::uint32_t a, std::uint32_t b);
    void run(Tier tier, bool any_word);
    void start_from_objects(Tier tier);
    void start_from_memory(std::span<const HeapRange> ranges, std::uint32_t owner, Tier tier);
    Tier tier_of_node(NodeNumber node) const;
    void find_lost();
    std::uint32_t group_of(Number block);
    std::string class_name(Address vtable);

    ObjectGraph& graph_;
    NativeBlocks& blocks_;
    const PresentPages& pages_;
    HeapCopy& memory_;
    HeapWindow window_;
    const Dominators* dominators_ = nullptr;

    PiecewiseVector<std::uint32_t> first_{};  // by block: its first edge
    PiecewiseVector<Number> targets_{};
    PiecewiseVector<std::uint8_t> field_{};   // by edge
    std::vector<Class> class_{};              // by block
    std::vector<std::uint64_t> junk_{};       // by block: words of a block without a class that are no pointers
    std::vector<std::uint8_t> vector_end_{};  // by block: words of a std::vector; behind them is stale memory
    std::vector<std::unique_ptr<Fields>> fields_{};
    std::vector<bool> named_{};  // by class: from a vtable
    std::unordered_map<std::uint64_t, Class> class_by_key_{};

    std::vector<std::uint32_t> owner_{};
    std::vector<Tier> tier_{};
    std::vector<Number> waiting_{};
    std::uint64_t merges_ = 0;
    std::map<std::pair<std::string, std::uint64_t>, std::uint32_t> groups_{};
    NativeUnreached unreached_{};
    std::vector<Address> lost_objects_{};
    std::unordered_map<Address, std::string> class_names_{};
    bool late_ = false;
};

}  // namespace memscope
