#pragma once
#include <algorithm>
#include <cstdint>
#include <string>

#include "sources/heap/python/numpy_arrays.h"
#include "sources/heap/python/object_data.h"
#include "sources/heap/python/python_pools.h"
#include "sources/heap/python/python_types.h"

namespace memscope {

// How one object refers to another. Paths are made of these.
struct Slot {
    enum Kind : std::uint8_t {
        item,   // detail: index
        value,  // of a dict; detail: address of the key
        key,
        attribute,  // of an instance without a dict; detail: where the address of the name is
        member,     // of a set
        dict_of,    // __dict__
        field,      // of a C type; detail: offset in the object
        type_of,
        type_dict,
        type_other,  // bases, method resolution order
        globals,
        closure,
        defaults,
        code,
        function_dict,
        function_other,
        content,  // of a cell
        local,    // detail: address of the name
        stack,
        maybe_stack,   // maybe above the top of the stack, so maybe stale
        callback,      // of a weak reference
        module_state,  // of a module in C; detail: offset
        cache,         // of functools.lru_cache
        wrapped,
        base,     // of an array
        impl,     // THPVariable -> TensorImpl
        storage,  // -> StorageImpl
        gradient,
        grad_fn,
        python,  // from C++ back to Python
        saved,   // by an autograd node; detail: offset
    };
    Kind kind = type_of;
    std::uint64_t detail = 0;
};

// Sizes and references of objects. Everything read may be wrong: a reference is only an address.
class ObjectReader {
  public:
    ObjectReader(ObjectData& data, PythonTypes& types, const PythonPools& pools)
        : data_(data), memory_(data.memory()), layout_(data.layout()), types_(types), pools_(pools), arrays_(data) {}

    ObjectData& data() { return data_; }
    HeapCopy& memory() { return memory_; }
    PythonTypes& types() { return types_; }
    NumpyArrays& arrays() { return arrays_; }
    const ObjectLayout& layout() const { return layout_; }

    std::uint64_t size_of(Address object, const PythonType& type);  // as sys.getsizeof() counts
    // What sys.getsizeof() leaves out: the array of attribute values.
    std::uint64_t values_size(Address object, const PythonType& type);
    std::uint64_t least_size(Address object, const PythonType& type);  // of the block that contains the object
    std::uint64_t length(Address object, const PythonType& type);      // of a container; else 0

    // Memory outside of the object that size_of() counts: items, keys, elements. Empty: there is none.
    HeapRange buffer_of(Address object, const PythonType& type);

    // Calls emit(Address) for the pages outside of the object in which references_of() will look for references.
    template <class Emit>
    void pages_of(Address object, const PythonType& type, Emit&& emit);

    // The object in a block of a pool. Null if there is none; `object` is its address.
    const PythonType* object_in(const PythonPools::Block& block, Address& object);
    // Whether the object fits into the block, or lies outside of all pools because of its size.
    bool has_sound_place(Address object, const PythonType& type);

    // Calls emit(Address, Slot) for each strong reference.
    template <class Emit>
    void references_of(Address object, const PythonType& type, Emit&& emit);
    template <class Emit>
    void frame_references(Address frame, Emit&& emit);
    // Calls visit(Address) for up to `most` items, the last ones where there is an order.
    template <class Visit>
    void last_items(Address object, const PythonType& type, std::size_t most, Visit&& visit);

    Address frame_code(Address frame) { return memory_.word(frame + layout_.stack.frame_code) & ~std::uint64_t{7}; }
    bool is_code(Address object) {
        if (object < ObjectData::kLowest) return false;
        if (!data_.knows_code_type()) (void)types_.of(object);
        return data_.is_code(object);
    }
    bool is_interned_table(Address dict);
    std::uint64_t absent() const { return absent_; }  // pages with items that were not present

  private:
    // Memory of the content. From 3.15 on it is a bytes object: if it lies in a pool, it counts as such an object.
    HeapRange bytearray_buffer(Address object);
    template <class Emit>
    void attribute_references(Address object, const PythonType& type, Emit&& emit);
    template <class Emit>
    void value_references(Address values, const PythonType& type, Emit&& emit);
    template <class Emit>
    void own_words(Address object, const PythonType& type, Emit&& emit);
    template <class Emit>
    void scan(Address object, std::uint64_t from, std::uint64_t to, Slot::Kind kind, Emit&& emit) {
        for (std::uint64_t offset = from; offset + 8 <= to; offset += 8)
            if (const Address target = memory_.word(object + offset); target >= ObjectData::kLowest)
                emit(target, Slot{kind, offset});
    }
    template <class Emit>
    void items(Address first, std::uint64_t count, Emit&& emit) {
        if (count > kMostItems || !memory_.is_mapped(first, count * 8)) return;
        absent_ += memory_.for_words(first, count,
                                     [&](std::uint64_t i, Address target) { emit(target, Slot{Slot::item, i}); });
    }
    // The keys that the instances of a type share. Null: it has none.
    const ObjectData::Keys* keys_of(const PythonType& type);
    std::uint64_t dict_size(Address object, const PythonType& type, std::uint64_t size);
    std::uint64_t text_size(Address object, std::uint64_t size);
    std::uint64_t pixel_bytes(Address object);

    ObjectData& data_;
    HeapCopy& memory_;
    const ObjectLayout& layout_;
    PythonTypes& types_;
    const PythonPools& pools_;
    NumpyArrays arrays_;
    struct SharedKeys {
        ObjectData::Keys keys{};
        bool is_known = false, is_there = false;
    };
    std::vector<SharedKeys> keys_{};  // by index of the type
    std::uint64_t absent_ = 0;
};

// ---------------------------------------------------------------------------------------------------------------------

template <class Emit>
void ObjectReader::value_references(Address values, const PythonType& type, Emit&& emit) {
    const ObjectData::Keys* keys = keys_of(type);
    if (keys == nullptr || !memory_.is_mapped(values, keys->count * 8)) return;
    for (std::uint64_t i = 0; i < keys->count; ++i)
        if (const Address value = memory_.word(values + 8 * i); value != 0)
            emit(value, Slot{Slot::attribute, keys->entries + i * keys->stride + keys->key});
}

// The __dict__ of an instance, or its attributes without a dict.
template <class Emit>
void ObjectReader::attribute_references(Address object, const PythonType& type, Emit&& emit) {
    if (layout_.version >= 311 && (type.flags & type_flags::kManagedDict) != 0) {
        const Address dict = memory_.word(object - 24);
        if (layout_.version == 311) {
            if (const Address values = memory_.word(object - 32); values != 0)
                value_references(values, type, emit);
            else if (dict != 0)
                emit(dict, Slot{Slot::dict_of});
        } else if (layout_.version == 312) {
            if ((dict & 1) != 0)
                value_references(dict + 1, type, emit);
            else if (dict != 0)
                emit(dict, Slot{Slot::dict_of});
        } else if (dict != 0) {
            emit(dict, Slot{Slot::dict_of});
        } else if ((type.flags & type_flags::kInlineValues) != 0) {
            const Address values = object + type.basic;
            constexpr std::uint64_t kValid = 3;
            if (memory_.get<std::uint8_t>(values + kValid) != 0) value_references(values + 8, type, emit);
        }
        return;
    }
    std::int64_t offset = type.dict_offset;
    if (offset < 0) {  // from the end of an object with items
        const auto count = memory_.get<std::int64_t>(object + object_offsets::kSize);
        if (count <= -static_cast<std::int64_t>(kMostItems) || count >= static_cast<std::int64_t>(kMostItems)) return;
        const std::uint64_t size = type.basic + type.item * static_cast<std::uint64_t>(count < 0 ? -count : count);
        offset += static_cast<std::int64_t>(rounded_up(size, 8));
    }
    if (offset > 0)
        if (const Address dict = memory_.word(object + static_cast<std::uint64_t>(offset)); dict != 0)
            emit(dict, Slot{Slot::dict_of});
}

template <class Emit>
void ObjectReader::frame_references(Address frame, Emit&& emit) {
    constexpr std::uint64_t kMostLocals = 65536;
    const Address code = frame_code(frame);
    if (!is_code(code)) return;
    const Address names = memory_.word(code + layout_.code_local_names);
    std::uint64_t count = memory_.get<std::uint32_t>(code + layout_.code_locals);
    const std::uint64_t named = count;
    std::uint64_t stack = memory_.get<std::uint32_t>(code + layout_.code_stack_size);
    if (count > kMostLocals || stack > kMostLocals) return;
    // 3.10 has three tuples of names: variables, cells, variables of enclosing functions.
    constexpr std::uint64_t kFreeNames = 80, kCellNames = 88;
    Address cell_names = 0, free_names = 0;
    std::uint64_t cells = 0;
    bool is_sure = true;  // false: the frame runs, so the used part of its stack is not known
    if (layout_.version == 310) {
        cell_names = memory_.word(code + kCellNames);
        free_names = memory_.word(code + kFreeNames);
        cells = data_.length(cell_names);
        const std::uint64_t free = data_.length(free_names);
        if (cells > kMostLocals || free > kMostLocals) return;
        count += cells + free;
        const auto depth = memory_.get<std::int32_t>(frame + layout_.frame_stack);
        stack = std::min<std::uint64_t>(stack, depth > 0 ? static_cast<std::uint64_t>(depth) : 0);
    } else if (layout_.version < 314) {
        const auto top = memory_.get<std::int32_t>(frame + layout_.frame_stack);
        is_sure = top >= 0;
        const auto used = static_cast<std::uint64_t>(top);
        if (is_sure) stack = std::min<std::uint64_t>(stack, used > count ? used - count : 0);
    } else {
        const Address top = memory_.word(frame + layout_.frame_stack);
        is_sure = top != 0;
        const Address bottom = frame + layout_.frame_locals + 8 * count;
        if (is_sure) stack = std::min<std::uint64_t>(stack, top > bottom ? (top - bottom) / 8 : 0);
    }
    const auto name_in = [&](Address tuple, std::uint64_t i) {
        return memory_.word(tuple + layout_.tuple_items + 8 * i);
    };
    for (std::uint64_t i = 0; i < count + stack; ++i) {
        const Address target = memory_.word(frame + layout_.frame_locals + 8 * i) & ~std::uint64_t{7};  // 3.14: tags
        if (target == 0) continue;
        if (i >= count) {
            emit(target, Slot{is_sure ? Slot::stack : Slot::maybe_stack, i - count});
            continue;
        }
        Address name = 0;
        if (i < named)
            name = name_in(names, i);
        else if (i - named < cells)
            name = name_in(cell_names, i - named);
        else
            name = name_in(free_names, i - named - cells);
        emit(target, Slot{Slot::local, name});
    }
    if (const Address dict = memory_.word(frame + layout_.frame_names); dict != 0) emit(dict, Slot{Slot::dict_of});
    if (layout_.frame_function != ObjectLayout::kNone)
        emit(memory_.word(frame + layout_.frame_function) & ~std::uint64_t{7}, Slot{Slot::function_other});
    emit(code, Slot{Slot::code});
}

// Scans the words whose meaning is not known. Leaves out the list of weak references and the __dict__.
template <class Emit>
void ObjectReader::own_words(Address object, const PythonType& type, Emit&& emit) {
    scan(object, type.scanned_from, type.basic, Slot::field, [&](Address target, Slot slot) {
        const auto offset = static_cast<std::int64_t>(slot.detail);
        if (offset != type.weak_offset && offset != type.dict_offset) emit(target, slot);
    });
    // From 3.12 on, a code object points to a block of cached data.
    if (layout_.version >= 312 && (data_.is_code(object) || (type.name == "code" && !type.heap)))
        scan(object, 16, type.basic, Slot::field, [&](Address block, Slot) {
            constexpr std::uint64_t kCachedBytes = 32;
            if (block % 16 == 0 && pools_.contains(block) && types_.of(block) == nullptr)
                scan(block, 0, kCachedBytes, Slot::field, emit);
        });
    if (type.item == 8 && (type.kind == ObjectKind::other || type.kind == ObjectKind::context_node)) {
        const std::uint64_t count = data_.length(object);
        if (count < kMostItems && memory_.is_mapped(object, type.basic + 8 * count))
            memory_.for_words(object + type.basic, count, [&](std::uint64_t i, Address target) {
                if (target >= ObjectData::kLowest) emit(target, Slot{Slot::field, type.basic + 8 * i});
            });
    }
}

template <class Emit>
void ObjectReader::references_of(Address object, const PythonType& type, Emit&& emit) {
    using namespace object_offsets;
    if (type.heap) emit(type.address, Slot{Slot::type_of});
    const auto word = [&](std::uint64_t offset) { return memory_.word(object + offset); };
    if (type.bytearray && layout_.bytearray_object != ObjectLayout::kNone)
        if (const Address bytes = bytearray_buffer(object).start; pools_.contains(bytes))
            emit(bytes, Slot{Slot::content});
    switch (type.kind) {
        case ObjectKind::list:
            if (word(kSize) <= word(kListRoom)) items(word(kListItems), word(kSize), emit);
            break;
        case ObjectKind::tuple:
            items(object + layout_.tuple_items, word(kSize), emit);
            break;
        case ObjectKind::dict:
            if (is_interned_table(object)) return;
            data_.dict_entries(object, [&](Address key, Address value) {
                emit(value, Slot{Slot::value, key});
                emit(key, Slot{Slot::key});
            });
            break;
        case ObjectKind::set: {
            const std::uint64_t slots = word(kSetMask) + 1;
            const Address table = word(kSetTable);
            constexpr std::uint64_t kEntryBytes = 16, kDummy = ~std::uint64_t{0};
            if (slots > kMostItems || !memory_.is_mapped(table, slots * kEntryBytes)) break;
            memory_.for_words(table, slots * 2, [&](std::uint64_t i, Address key) {
                if (i % 2 == 0 && key != 0 && memory_.word(table + 8 * i + 8) != kDummy) emit(key, Slot{Slot::member});
            });
            break;
        }
        case ObjectKind::deque: {  // blocks of 64 items between two links
            constexpr std::uint64_t kInBlock = 64, kNext = std::uint64_t{65} * 8, kBlockBytes = std::uint64_t{66} * 8;
            std::uint64_t left = word(kSize), index = word(40), i = 0;
            if (left > kMostItems) break;
            for (Address block = word(24); left > 0 && memory_.is_mapped(block, kBlockBytes) && !memory_.late();
                 block = memory_.word(block + kNext), index = 0) {
                if (index >= kInBlock) break;
                for (; index < kInBlock && left > 0; ++index, --left)
                    emit(memory_.word(block + 8 + 8 * index), Slot{Slot::item, i++});
            }
            break;
        }
        case ObjectKind::type:
            emit(word(kTypeDict), Slot{Slot::type_dict});
            for (const std::uint64_t offset : {256, 336, 344, 360}) emit(word(offset), Slot{Slot::type_other});
            if ((word(kTypeFlags) & type_flags::kHeap) != 0) {
                for (std::uint64_t offset = layout_.type_keys - 16; offset <= layout_.type_keys + 8; offset += 8)
                    if (offset != layout_.type_keys) emit(word(offset), Slot{Slot::type_other});
                emit(word(kTypeDoc), Slot{Slot::field, kTypeDoc});  // a copy of the text, and no object
            }
            return;  // its __dict__ is tp_dict
        case ObjectKind::module: {
            constexpr std::uint64_t kStateBytes = 56, kMostState = 65536;
            emit(word(kModuleDict), Slot{Slot::dict_of});
            emit(word(layout_.module_name), Slot{Slot::field, layout_.module_name});
            const Address state = word(layout_.module_state);
            std::uint64_t size = 0;
            if (layout_.module_state_size != ObjectLayout::kNone)
                size = word(layout_.module_state_size);
            else if (const Address definition = word(layout_.module_definition); definition != 0)
                size = memory_.word(definition + kStateBytes);
            if (state != 0 && size <= kMostState && memory_.is_mapped(state, size))
                scan(state, 0, size, Slot::module_state, emit);
            break;
        }
        case ObjectKind::function:
            emit(word(kFunctionGlobals), Slot{Slot::globals});
            emit(word(kFunctionBuiltins), Slot{Slot::globals});
            emit(word(kFunctionCode), Slot{Slot::code});
            emit(word(56), Slot{Slot::defaults});
            emit(word(64), Slot{Slot::defaults});
            emit(word(kFunctionClosure), Slot{Slot::closure});
            emit(word(88), Slot{Slot::function_dict});
            for (const std::uint64_t offset : {32, 40, 80, 104, 112}) emit(word(offset), Slot{Slot::function_other});
            if (type.basic > 128) scan(object, 120, type.basic - 8, Slot::function_other, emit);
            return;  // all its attributes are in that dict
        case ObjectKind::cell:
            emit(word(16), Slot{Slot::content});
            return;
        case ObjectKind::frame:
            if (layout_.version == 310) {
                frame_references(object, emit);
                emit(word(24), Slot{Slot::field, 24});
            } else {
                emit(word(16), Slot{Slot::field, 16});  // f_back
                const Address frame = word(24);
                constexpr std::uint8_t kOwnedByObject = 2;
                if (frame != 0 && memory_.get<std::uint8_t>(frame + layout_.stack.frame_owner) == kOwnedByObject)
                    frame_references(frame, emit);
                scan(object, 32, 48, Slot::field, emit);
            }
            return;
        case ObjectKind::generator:
            scan(object, 16, layout_.version == 310 ? type.basic : 64, Slot::field, [&](Address target, Slot slot) {
                if (static_cast<std::int64_t>(slot.detail) != type.weak_offset) emit(target, slot);
            });
            if (layout_.version > 310 &&
                memory_.get<std::int8_t>(object + layout_.generator_state) < layout_.generator_ended)
                frame_references(object + layout_.generator_frame, emit);
            return;
        case ObjectKind::weakref:  // the object itself is not held
            emit(word(24), Slot{Slot::callback});
            break;
        case ObjectKind::lru_cache: {  // the references in its list of links are borrowed
            bool is_first = true;
            scan(object, 56, type.basic, Slot::field, [&](Address target, Slot slot) {
                const PythonType* of = types_.of(target);
                if (of == nullptr || slot.detail == static_cast<std::uint64_t>(type.dict_offset)) return;
                if (of->kind == ObjectKind::dict && is_first) {
                    is_first = false;
                    emit(target, Slot{Slot::cache});
                } else {
                    emit(target, Slot{of->kind == ObjectKind::function ? Slot::wrapped : Slot::field, slot.detail});
                }
            });
            attribute_references(object, type, emit);
            return;
        }
        case ObjectKind::lru_link:
            scan(object, 40, 56, Slot::field, emit);
            return;
        case ObjectKind::ndarray: {
            emit(word(NumpyArrays::kBase), Slot{Slot::base});
            emit(word(NumpyArrays::kDtype), Slot{Slot::field, NumpyArrays::kDtype});
            const NumpyArray array = arrays_.read(object);
            if (array.holds_objects && array.owns_data && array.count <= kMostItems)
                items(array.data, array.count, emit);
            break;
        }
        case ObjectKind::leaf:
        case ObjectKind::other:
        case ObjectKind::thread_data:
        case ObjectKind::context_node:
        case ObjectKind::tensor:
        case ObjectKind::storage:
            break;
        case ObjectKind::running:
            frame_references(object, emit);
            return;
        case ObjectKind::tensor_impl:
        case ObjectKind::storage_impl:
        case ObjectKind::native:
            return;
    }
    own_words(object, type, emit);
    attribute_references(object, type, emit);
}

template <class Emit>
void ObjectReader::pages_of(Address object, const PythonType& type, Emit&& emit) {
    using namespace object_offsets;
    constexpr std::uint64_t kMost = 16 * HeapCopy::kPage, kKeysHead = 32, kEntry = 24, kValues = 64;
    const auto pages = [&](Address start, std::uint64_t bytes) {
        if (start < ObjectData::kLowest || start >> 56U != 0)
            return;  // the last page of all would be followed by page 0
        const Address end = start + std::min(bytes, kMost);
        for (Address at = start; at < end; at = rounded_down(at, HeapCopy::kPage) + HeapCopy::kPage) emit(at);
    };
    const auto word = [&](std::uint64_t offset) { return memory_.word(object + offset); };
    switch (type.kind) {
        case ObjectKind::list:
            pages(word(kListItems), 8 * std::min(word(kSize), kMostItems));
            break;
        case ObjectKind::dict:
            pages(word(kDictKeys), kKeysHead + 2 * kEntry * std::min(word(kSize), kMostItems));
            if (const Address values = word(kDictValues); values != 0)
                pages(values, 8 * std::min(word(kSize), kMostItems));
            break;
        case ObjectKind::set:
            pages(word(kSetTable), 16 * (std::min(word(kSetMask), kMostItems) + 1));
            break;
        default:
            break;
    }
    if (layout_.version == 311 && (type.flags & type_flags::kManagedDict) != 0)
        pages(memory_.word(object - 32), kValues);
}

template <class Visit>
void ObjectReader::last_items(Address object, const PythonType& type, std::size_t most, Visit&& visit) {
    using namespace object_offsets;
    const auto word = [&](std::uint64_t offset) { return memory_.word(object + offset); };
    if (type.kind == ObjectKind::list) {
        const std::uint64_t count = std::min({word(kSize), word(kListRoom), kMostItems});
        const std::uint64_t taken = std::min<std::uint64_t>(count, most);
        memory_.for_words(word(kListItems) + 8 * (count - taken), taken,
                          [&](std::uint64_t, Address target) { visit(target); });
    } else if (type.kind == ObjectKind::dict) {
        ObjectData::Keys keys;
        if (!data_.read_keys(word(kDictKeys), keys)) return;
        data_.entries_of(keys, data_.values_of(object), keys.count - std::min<std::uint64_t>(keys.count, most),
                         [&](Address, Address value) { visit(value); });
    } else {
        std::size_t seen = 0;
        constexpr std::uint64_t kLargestWhole = 100'000;
        if (length(object, type) > kLargestWhole) return;
        references_of(object, type, [&](Address target, Slot slot) {
            if ((slot.kind == Slot::item || slot.kind == Slot::member) && seen < most) {
                ++seen;
                visit(target);
            }
        });
    }
}

}  // namespace memscope
