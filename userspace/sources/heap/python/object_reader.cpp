#include "sources/heap/python/object_reader.h"

#include "sources/heap/library_bss.h"
#include "sources/python/python_code.h"
#include "sources/python/python_layout.h"

namespace memscope {

using namespace object_offsets;

namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40;  // of one object; a larger number is taken for torn

}  // namespace

const PythonType* ObjectReader::object_in(const PythonPools::Block& block, Address& object) {
    // An object begins at the start of its block, after the links of the garbage collector, or after its attributes.
    for (std::uint32_t before = 0; before <= 32 && before + 16 <= block.bytes; before += 16) {
        const Address candidate = block.start + pools_.padding() + before;
        const PythonType* type = types_.of(candidate);
        if (type == nullptr || type->head != before || !data_.is_alive(candidate)) continue;
        const std::uint64_t size = least_size(candidate, *type);
        if (size > block.bytes) continue;
        const std::uint64_t least = before + size + pools_.overhead();
        if (least > block.bytes || (type->has_fixed_size() && rounded_up(least, 16) != block.bytes)) continue;
        object = candidate;
        return type;
    }
    return nullptr;
}

bool ObjectReader::has_sound_place(Address object, const PythonType& type) {
    const std::uint64_t least = least_size(object, type);
    if (least > kMostBytes) return false;
    if (pools_.contains(object)) {
        const auto block = pools_.block_at(object);
        return block && object == block->start + pools_.padding() + type.head &&
               type.head + least + pools_.overhead() <= block->bytes;
    }
    // Objects of a fixed size of at most 512 bytes are always in pools, except static ones in libraries.
    const MappedRange* range = memory_.range_at(object);
    const bool in_library = range != nullptr && (range->inode != 0 || range->path == kBss);
    if (!pools_.empty() && !in_library && type.has_fixed_size() &&
        type.head + least + pools_.overhead() <= PythonPools::kLargestBlock)
        return false;
    return memory_.is_mapped(object, least);
}

std::uint64_t ObjectReader::least_size(Address object, const PythonType& type) {
    if (type.kind == ObjectKind::generator || type.kind == ObjectKind::frame) return type.basic;  // without ob_size
    const std::uint64_t word = memory_.word(object + kSize);
    if ((type.flags & type_flags::kText) != 0) {  // most strings are smaller than tp_basicsize
        const TextState state(memory_.get<std::uint32_t>(object + kTextState));
        if (!state.compact) return type.basic;
        const std::uint64_t before = state.ascii ? layout_.stack.text_data : layout_.text_compact;
        if (state.character_bytes == 0 || state.character_bytes > 4 || word > kMostBytes) return ~std::uint64_t{0};
        return before + (word + 1) * state.character_bytes;
    }
    if (type.item == 0) return type.basic;
    auto count = static_cast<std::int64_t>(word);
    if ((type.flags & type_flags::kInt) != 0 && layout_.version >= 312) count = static_cast<std::int64_t>(word >> 3U);
    if (count < 0) count = -(count + 1) + 1;
    const auto items = static_cast<std::uint64_t>(count);
    return items > kMostBytes ? ~std::uint64_t{0} : type.basic + type.item * items;
}

const ObjectData::Keys* ObjectReader::keys_of(const PythonType& type) {
    if (type.index >= keys_.size()) keys_.resize(type.index + 1);
    SharedKeys& shared = keys_[type.index];
    if (!shared.is_known) {
        shared.is_known = true;
        shared.is_there = data_.read_keys(memory_.word(type.address + layout_.type_keys), shared.keys);
    }
    return shared.is_there ? &shared.keys : nullptr;
}

std::uint64_t ObjectReader::dict_size(Address object, const PythonType& type, std::uint64_t size) {
    ObjectData::Keys keys;
    const Address address = memory_.word(object + kDictKeys);
    if (!data_.read_keys(address, keys)) return size;
    const bool is_split = memory_.word(object + kDictValues) != 0;
    if (is_split)
        size +=
            8 * (layout_.version == 310 ? keys.slots * 2 / 3 : keys.count + std::min<std::uint64_t>(keys.usable, 64));
    if (memory_.word(address) == 1 && memory_.is_mapped(address, keys.bytes)) size += keys.bytes;
    constexpr std::uint64_t kFastNodes = 72, kNodeBytes = 32;  // PyODictObject
    if (type.ordered && memory_.word(object + kFastNodes) <= 2 * keys.bytes)
        size += 8 * std::min(memory_.word(object + kFastNodes), kMostItems) +
                kNodeBytes * std::min(memory_.word(object + kSize), kMostItems);
    return size;
}

std::uint64_t ObjectReader::text_size(Address object, std::uint64_t size) {
    const std::uint64_t length = memory_.word(object + kTextLength);
    const TextState state(memory_.get<std::uint32_t>(object + kTextState));
    const std::uint64_t width = state.character_bytes;
    if (length > kMostBytes || width > 4) return size;
    if (!state.compact) return size + (length + 1) * width;
    if (state.ascii) return layout_.stack.text_data + length + 1;
    const std::uint64_t utf8_bytes = memory_.word(object + layout_.stack.text_data),
                        utf8 = memory_.word(object + layout_.stack.text_data + 8);
    return layout_.text_compact + (length + 1) * width + (utf8 != 0 && utf8_bytes < kMostBytes ? utf8_bytes + 1 : 0);
}

namespace {

// Offsets in struct ImagingMemoryInstance of Pillow.
struct ImageLayout {
    std::uint64_t width, height, pixel_bytes, line_bytes;
};
constexpr ImageLayout kImageLayouts[] = {
    {20, 24, 80, 84},  // Pillow 5 to 11: the mode is text
    {16, 20, 72, 76},  // Pillow 13: the mode is a number
};

}  // namespace

// 0 if the sizes of the image do not agree with each other in any known layout.
std::uint64_t ObjectReader::pixel_bytes(Address object) {
    constexpr std::uint64_t kImage = 16, kPadding = 8;
    constexpr std::uint32_t kMost = 1U << 28U;
    const Address image = memory_.word(object + kImage);
    if (image < ObjectData::kLowest) return 0;
    const auto number = [&](std::uint64_t offset) { return memory_.get<std::uint32_t>(image + offset); };
    for (const ImageLayout& layout : kImageLayouts) {
        const std::uint64_t width = number(layout.width), height = number(layout.height),
                            pixel = number(layout.pixel_bytes), line = number(layout.line_bytes);
        if (width > kMost || height > kMost || (pixel != 1 && pixel != 2 && pixel != 4)) continue;
        const bool is_sound = line >= width * pixel && line < width * pixel + kPadding;
        if (is_sound && line * height < kMostBytes) return line * height;
    }
    return 0;
}

std::uint64_t ObjectReader::size_of(Address object, const PythonType& type) {
    std::uint64_t size = type.head + type.basic;
    const auto word = [&](std::uint64_t offset) { return memory_.word(object + offset); };
    switch (type.kind) {
        case ObjectKind::list:
            return size + (word(kListRoom) <= kMostItems && memory_.is_mapped(word(kListItems), 8 * word(kListRoom))
                               ? 8 * word(kListRoom)
                               : 0);
        case ObjectKind::dict:
            return dict_size(object, type, size);
        case ObjectKind::set: {
            const std::uint64_t bytes = 16 * (std::min(word(kSetMask), kMostItems) + 1);
            const bool is_apart = word(kSetTable) != object + kSetSmallTable;
            return size + (is_apart && memory_.is_mapped(word(kSetTable), bytes) ? bytes : 0);
        }
        case ObjectKind::deque: {
            constexpr std::uint64_t kInBlock = 64, kBlockBytes = std::uint64_t{66} * 8;
            const std::uint64_t count = word(kSize), index = word(40);
            return size + (count < kMostItems && index < kInBlock
                               ? (index + count + kInBlock - 1) / kInBlock * kBlockBytes
                               : 0);
        }
        case ObjectKind::ndarray: {
            const NumpyArray array = arrays_.read(object);
            return size + (array.owns_data ? array.bytes : 0) + 16 * array.shape.size();
        }
        case ObjectKind::type: {
            ObjectData::Keys keys;
            if ((word(kTypeFlags) & type_flags::kHeap) == 0) return layout_.type_bytes;
            const Address address = word(layout_.type_keys);
            return size + (data_.read_keys(address, keys) && memory_.is_mapped(address, keys.bytes) ? keys.bytes : 0);
        }
        case ObjectKind::tensor_impl:
        case ObjectKind::storage_impl:
        case ObjectKind::native:
        case ObjectKind::running:
            return 0;
        default:
            break;
    }
    if ((type.flags & type_flags::kText) != 0) return text_size(object, size);
    if ((type.flags & type_flags::kInt) != 0) {
        constexpr std::uint64_t kMostDigits = 1 << 16;
        if (layout_.version >= 312) return size + 4 * std::clamp<std::uint64_t>(word(kSize) >> 3U, 1, kMostDigits);
        size = type.head + 24;
    }
    if (type.bytearray) {
        const HeapRange buffer = bytearray_buffer(object);
        const bool is_own = memory_.is_mapped(buffer.start, buffer.size()) &&
                            (layout_.bytearray_object == ObjectLayout::kNone || !pools_.contains(buffer.start));
        return size + (is_own ? buffer.size() : 0);
    }
    if (type.image) return size + pixel_bytes(object);
    if (type.item == 0) return size;
    auto count = memory_.get<std::int64_t>(object + kSize);
    if (count < 0) count = -(count + 1) + 1;
    auto items = static_cast<std::uint64_t>(count);
    if (type.kind == ObjectKind::generator) {
        const Address code = frame_code(object + layout_.generator_frame);
        items = layout_.version > 310 && is_code(code)
                    ? std::uint64_t{memory_.get<std::uint16_t>(code + layout_.code_locals)} +
                          memory_.get<std::uint16_t>(code + layout_.code_stack_size)
                    : 0;
    }
    if (items < kMostBytes && memory_.is_mapped(object, size + type.item * items)) size += type.item * items;
    return size;
}

HeapRange ObjectReader::buffer_of(Address object, const PythonType& type) {
    const auto word = [&](std::uint64_t offset) { return memory_.word(object + offset); };
    const auto range = [](Address start, std::uint64_t bytes) { return HeapRange{start, start + bytes}; };
    switch (type.kind) {
        case ObjectKind::list:
            return word(kListRoom) <= kMostItems ? range(word(kListItems), 8 * word(kListRoom)) : HeapRange{};
        case ObjectKind::dict: {
            ObjectData::Keys keys;
            const Address address = word(kDictKeys);
            return data_.read_keys(address, keys) && memory_.word(address) == 1 ? range(address, keys.bytes)
                                                                                : HeapRange{};
        }
        case ObjectKind::set: {
            const std::uint64_t bytes = 16 * (std::min(word(kSetMask), kMostItems) + 1);
            return word(kSetTable) != object + kSetSmallTable ? range(word(kSetTable), bytes) : HeapRange{};
        }
        case ObjectKind::ndarray: {
            const NumpyArray array = arrays_.read(object);
            return array.owns_data ? range(array.data, array.bytes) : HeapRange{};
        }
        default:
            break;
    }
    return type.bytearray ? bytearray_buffer(object) : HeapRange{};
}

HeapRange ObjectReader::bytearray_buffer(Address object) {
    constexpr std::uint64_t kRoom = 24, kBuffer = 40, kHeadOfBytes = 32;
    const std::uint64_t room = memory_.word(object + kRoom);
    if (room == 0 || room >= kMostBytes) return {};
    if (layout_.bytearray_object == ObjectLayout::kNone) {
        const Address start = memory_.word(object + kBuffer);
        return {start, start + room};
    }
    const Address bytes = memory_.word(object + layout_.bytearray_object);
    return {bytes, bytes + kHeadOfBytes + room + 1};
}

std::uint64_t ObjectReader::values_size(Address object, const PythonType& type) {
    if (layout_.version < 311 || (type.flags & type_flags::kManagedDict) == 0) return 0;
    const std::uint64_t word = memory_.word(object - (layout_.version == 311 ? 32 : 24));
    const bool has_values = layout_.version == 311   ? word != 0
                            : layout_.version == 312 ? (word & 1) != 0
                                                     : (type.flags & type_flags::kInlineValues) != 0;
    const ObjectData::Keys* keys = has_values ? keys_of(type) : nullptr;
    if (keys == nullptr) return 0;
    const std::uint64_t count = keys->count + std::min<std::uint64_t>(keys->usable, 64);
    return rounded_up(count + 2, 8) + 8 * count;
}

std::uint64_t ObjectReader::length(Address object, const PythonType& type) {
    std::uint64_t length = 0;
    switch (type.kind) {
        case ObjectKind::list:
            length = memory_.word(object + kSize);
            if (length > memory_.word(object + kListRoom)) return 0;  // torn
            break;
        case ObjectKind::tuple:
        case ObjectKind::deque:
        case ObjectKind::dict:
            length = memory_.word(object + kSize);
            break;
        case ObjectKind::set:
            length = memory_.word(object + kSetUsed);
            break;
        default:
            break;
    }
    return length <= kMostItems ? length : 0;
}

// The table of interned strings holds no references.
bool ObjectReader::is_interned_table(Address dict) {
    constexpr std::uint64_t kLeast = 256, kCompared = 32;
    if (memory_.word(dict + kSize) < kLeast) return false;
    ObjectData::Keys keys;
    if (!data_.read_keys(memory_.word(dict + kDictKeys), keys) || keys.count < kLeast) return false;
    for (std::uint64_t i = 0; i < kCompared; ++i) {
        const Address entry = keys.entries + i * keys.stride;
        const Address key = memory_.word(entry + keys.key);
        if (key != 0 && key != memory_.word(entry + keys.value)) return false;
    }
    return true;
}

}  // namespace memscope
