#include "sources/heap/python/object_data.h"

#include <algorithm>
#include <vector>

#include "sources/python/python_code.h"
#include "sources/python/python_layout.h"

namespace memscope {

using namespace object_offsets;

std::uint64_t ObjectData::flags_of(Address object) {
    if (object < kLowest) return 0;
    const Address type = memory_.word(object + kType);
    return type < kLowest ? 0 : memory_.word(type + kTypeFlags);
}

std::string ObjectData::text(Address object, std::size_t most) {
    if (!is_text(object)) return {};
    const TextState state(memory_.get<std::uint32_t>(object + kTextState));
    const unsigned width = state.character_bytes;
    if (!state.compact || (width != 1 && width != 2 && width != 4)) return {};
    const std::uint64_t characters = std::min<std::uint64_t>(memory_.word(object + kTextLength), most);
    std::vector<std::byte> bytes(characters * width);
    memory_.read(object + (state.ascii ? layout_.stack.text_data : layout_.text_compact), bytes);
    return utf8_of(bytes, width);
}

bool ObjectData::read_keys(Address keys, Keys& into) {
    constexpr int kFirstWithLogSizes = 311;
    constexpr unsigned kMostLogSize = 32, kMostLogBytes = 36;
    if (keys < kLowest || keys % 8 != 0) return false;
    into.count = memory_.word(keys + layout_.keys_entries);
    std::uint64_t index_bytes = 0;
    into.stride = 24;  // hash, key, value
    into.key = 8;
    into.value = 16;
    if (layout_.version < kFirstWithLogSizes) {
        into.slots = memory_.word(keys + 8);
        if (into.slots > std::uint64_t{1} << kMostLogSize) return false;
        index_bytes = into.slots * (into.slots <= 0xFF ? 1 : into.slots <= 0xFFFF ? 2 : 4);
    } else {
        const auto log_size = memory_.get<std::uint8_t>(keys + 8), log_bytes = memory_.get<std::uint8_t>(keys + 9),
                   kind = memory_.get<std::uint8_t>(keys + 10);
        if (log_size > kMostLogSize || log_bytes > kMostLogBytes || kind > 2) return false;
        into.slots = std::uint64_t{1} << log_size;
        index_bytes = std::uint64_t{1} << log_bytes;
        if (kind != 0) {  // all keys are strings, which contain their hash
            into.stride = 16;
            into.key = 0;
            into.value = 8;
        }
    }
    into.usable = memory_.word(keys + layout_.keys_entries - 8);
    into.entries = keys + layout_.keys_indices + index_bytes;
    into.bytes = layout_.keys_indices + index_bytes + into.slots * 2 / 3 * into.stride;
    return into.count <= into.slots && into.count <= kMostItems &&
           memory_.is_mapped(into.entries, into.count * into.stride);
}

Address ObjectData::values_of(Address dict) {
    constexpr int kFirstWithSizes = 313;  // the sizes are stored before the values
    const Address values = memory_.word(dict + kDictValues);
    return values != 0 && layout_.version >= kFirstWithSizes ? values + 8 : values;
}

Address ObjectData::dict_get(Address dict, std::string_view key) {
    Address found = 0;
    if (dict < kLowest) return 0;
    const auto name = names_.find(key);
    if (name != names_.end())
        dict_entries(dict, [&](Address each, Address value) {
            if (found == 0 && each == name->second) found = value;
        });
    if (found != 0) return found;
    dict_entries(dict, [&](Address each, Address value) {
        if (found != 0 || memory_.word(each + kTextLength) != key.size() || text(each, key.size()) != key) return;
        found = value;
        names_[std::string(key)] = each;
    });
    return found;
}

bool ObjectData::is_alive(Address object) {
    const std::uint64_t word = memory_.word(object);
    if (layout_.version >= 314) return (word & 0xFFFFFFFFU) != 0 && (word >> 32U & 0xFFFFU) == 0;
    if (layout_.version >= kFirstImmortal) return word != 0 && word <= 0xFFFFFFFFU;
    return word != 0 && word < std::uint64_t{1} << 40U;
}

}  // namespace memscope
