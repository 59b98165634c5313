#include "sources/heap/python/referrer_words.h"

namespace memscope {

using namespace object_offsets;

namespace {

HeapRange variables_of(ObjectReader& reader, Address frame) {
    HeapCopy& memory = reader.memory();
    constexpr std::uint64_t kMostLocals = 4096;
    const ObjectLayout& layout = reader.layout();
    const Address code = reader.frame_code(frame);
    if (!reader.is_code(code)) return {};
    const std::uint64_t count = std::uint64_t{memory.get<std::uint32_t>(code + layout.code_locals)} +
                                memory.get<std::uint32_t>(code + layout.code_stack_size);
    const Address first = frame + layout.frame_locals;
    return count <= kMostLocals ? HeapRange{first, first + 8 * count} : HeapRange{};
}

// The attributes of an instance that has no dict for them.
HeapRange values_of_attributes(ObjectReader& reader, Address object, const PythonType& type) {
    HeapCopy& memory = reader.memory();
    const ObjectLayout& layout = reader.layout();
    if (layout.version < 311 || (type.flags & type_flags::kManagedDict) == 0) return {};
    Address values = 0;
    if (layout.version == 311) {
        values = memory.word(object - 32);
    } else if (const Address dict = memory.word(object - 24); layout.version == 312) {
        values = (dict & 1) != 0 ? dict + 1 : 0;
    } else if (dict == 0 && (type.flags & type_flags::kInlineValues) != 0) {
        values = object + type.basic + 8;
    }
    ObjectData::Keys keys;
    if (values == 0 || !reader.data().read_keys(memory.word(type.address + layout.type_keys), keys)) return {};
    return {values, values + 8 * keys.count};
}

}  // namespace

std::vector<HeapRange> referrer_words(ObjectReader& reader, Address object, const PythonType& type) {
    HeapCopy& memory = reader.memory();
    const ObjectLayout& layout = reader.layout();
    const auto words = [](Address start, std::uint64_t count) {
        return count <= kMostItems ? HeapRange{start, start + 8 * count} : HeapRange{};
    };
    switch (type.kind) {
        case ObjectKind::list:
            return {words(memory.word(object + kListItems), reader.length(object, type))};
        case ObjectKind::tuple:
            return {words(object + layout.tuple_items, reader.length(object, type))};
        case ObjectKind::cell:
            return {words(object + 16, 1)};
        case ObjectKind::running:
            return {variables_of(reader, object)};
        case ObjectKind::generator:
            return {variables_of(reader, object + layout.generator_frame)};
        case ObjectKind::dict: {
            ObjectData::Keys keys;
            if (!reader.data().read_keys(memory.word(object + kDictKeys), keys)) return {};
            if (const Address values = reader.data().values_of(object); values != 0) return {words(values, keys.count)};
            return {words(keys.entries, keys.count * (keys.stride / 8))};
        }
        case ObjectKind::other:
        case ObjectKind::tensor: {
            std::vector<HeapRange> ranges{words(object + 16, type.basic > 16 ? (type.basic - 16) / 8 : 0)};
            ranges.push_back(values_of_attributes(reader, object, type));
            return ranges;
        }
        default:
            return {};
    }
}

}  // namespace memscope
