#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "sources/heap/python/heap_copy.h"
#include "sources/heap/python/object_layout.h"

namespace memscope {

// Offsets that are the same in CPython 3.10 to 3.15.
namespace object_offsets {
constexpr std::uint64_t kType = 8;
constexpr std::uint64_t kSize = 16;  // ob_size of objects with items, ma_used of dicts
constexpr std::uint64_t kListItems = 24, kListRoom = 32;
constexpr std::uint64_t kDictKeys = 32, kDictValues = 40;
constexpr std::uint64_t kSetUsed = 24, kSetMask = 32, kSetTable = 40, kSetSmallTable = 64;
constexpr std::uint64_t kFunctionGlobals = 16, kFunctionBuiltins = 24, kFunctionCode = 48, kFunctionClosure = 72;
constexpr std::uint64_t kModuleDict = 16;
constexpr std::uint64_t kTypeName = 24, kTypeBasic = 32, kTypeItem = 40, kTypeFlags = 168, kTypeDoc = 176,
                        kTypeWeak = 208, kTypeMembers = 240, kTypeBase = 256, kTypeDict = 264, kTypeDictOffset = 288;
}  // namespace object_offsets

// Bits of tp_flags.
namespace type_flags {
constexpr std::uint64_t kInlineValues = 1U << 2U, kManagedWeak = 1U << 3U, kManagedDict = 1U << 4U, kHeap = 1U << 9U,
                        kReady = 1U << 12U, kCollected = 1U << 14U, kInt = 1U << 24U, kList = 1U << 25U,
                        kTuple = 1U << 26U, kBytes = 1U << 27U, kText = 1U << 28U, kDict = 1U << 29U,
                        kException = 1U << 30U, kType = std::uint64_t{1} << 31U;
}  // namespace type_flags

constexpr std::uint64_t kMostItems = std::uint64_t{1} << 28;  // of a container; a larger number is taken for torn

// Reads strings, dicts and reference counts out of the copy.
class ObjectData {
  public:
    ObjectData(HeapCopy& memory, const ObjectLayout& layout) : memory_(memory), layout_(layout) {}

    HeapCopy& memory() { return memory_; }
    const ObjectLayout& layout() const { return layout_; }

    // tp_flags of the type of an object. 0 if the object has no type.
    std::uint64_t flags_of(Address object);
    bool is_text(Address object) { return (flags_of(object) & type_flags::kText) != 0; }
    std::string text(Address object, std::size_t most);  // empty: not a str
    std::uint64_t length(Address object) { return memory_.word(object + object_offsets::kSize); }

    struct Keys {  // PyDictKeysObject
        Address entries = 0;
        std::uint64_t count = 0;   // used entries, deleted ones included
        std::uint64_t stride = 0;  // bytes of an entry
        std::uint64_t key = 0, value = 0;
        std::uint64_t bytes = 0;
        std::uint64_t usable = 0;  // entries that can still be added
        std::uint64_t slots = 0;
    };
    bool read_keys(Address keys, Keys& into);
    // Calls visit(key, value) for each entry.
    template <class Visit>
    void dict_entries(Address dict, Visit&& visit);
    template <class Visit>
    void entries_of(const Keys& keys, Address values, std::uint64_t from, Visit&& visit);
    Address values_of(Address dict);  // 0: the values are in the keys
    Address dict_get(Address dict, std::string_view key);

    std::uint64_t references(Address object) {
        const std::uint64_t word = memory_.word(object);
        return layout_.version >= kFirstImmortal ? word & 0xFFFFFFFFU : word;
    }
    // Whether its reference count is that of a live object. A freed block has a link of a free list there, or 0.
    bool is_alive(Address object);

    bool is_code(Address object) {
        return code_type_ != 0 && memory_.word(object + object_offsets::kType) == code_type_;
    }
    bool knows_code_type() const { return code_type_ != 0; }
    void set_code_type(Address type) { code_type_ = type; }

    static constexpr int kFirstImmortal = 312;
    static constexpr Address kLowest = 65536;

  private:
    HeapCopy& memory_;
    const ObjectLayout& layout_;
    Address code_type_ = 0;
    // Names for which dict_get() was called, and the str that it found last: most dicts have the same one.
    std::map<std::string, Address, std::less<>> names_{};
};

template <class Visit>
void ObjectData::entries_of(const Keys& keys, Address values, std::uint64_t from, Visit&& visit) {
    for (std::uint64_t i = from; i < keys.count; ++i) {
        if (i % 512 == 0 && memory_.late()) return;
        const Address entry = keys.entries + i * keys.stride;
        const Address key = memory_.word(entry + keys.key);
        const Address value = values != 0 ? memory_.word(values + 8 * i) : memory_.word(entry + keys.value);
        if (key != 0 && value != 0) visit(key, value);
    }
}

template <class Visit>
void ObjectData::dict_entries(Address dict, Visit&& visit) {
    Keys keys;
    if (!read_keys(memory_.word(dict + object_offsets::kDictKeys), keys)) return;
    const Address values = values_of(dict);
    if (values != 0 && !memory_.is_mapped(values, keys.count * 8)) return;
    entries_of(keys, values, 0, visit);
}

}  // namespace memscope
