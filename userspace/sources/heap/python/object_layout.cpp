#include "sources/heap/python/object_layout.h"

#include <array>
#include <cstring>

#include "sources/python/python_layout.h"

namespace memscope {
namespace {

constexpr std::uint32_t kNone = ObjectLayout::kNone;

// The offsets are the same in all releases of a minor version. Each layout is a copy of the previous layout with the
// changes of its version.
constexpr ObjectLayout k310{.stack = {},
                            .version = 310,
                            .interpreter_modules = 856,
                            .frame_function = kNone,
                            .frame_names = 56,
                            .frame_stack = 80,
                            .frame_locals = 352,
                            .code_local_names = 72,
                            .code_locals = 28,
                            .code_stack_size = 32,
                            .tuple_items = 24,
                            .text_compact = 72,
                            .keys_entries = 32,
                            .keys_indices = 40,
                            .type_bytes = 408,
                            .type_qualname = 864,
                            .type_keys = 872,
                            .generator_frame = 16,
                            .generator_state = kNone};

constexpr ObjectLayout k311 = [] {
    ObjectLayout layout = k310;
    layout.version = 311;
    layout.interpreter_modules = 888;
    layout.frame_function = 0;
    layout.frame_names = 24;
    layout.frame_stack = 64;
    layout.frame_locals = 72;
    layout.code_local_names = 96;
    layout.code_locals = 76;
    layout.code_stack_size = 68;
    layout.keys_entries = 24;
    layout.keys_indices = 32;
    layout.generator_frame = 80;
    layout.generator_state = 75;
    return layout;
}();

constexpr ObjectLayout k312 = [] {
    ObjectLayout layout = k311;
    layout.version = 312;
    layout.interpreter_modules = 944;
    layout.frame_function = 16;
    layout.frame_names = 40;
    layout.code_locals = 72;
    layout.code_stack_size = 64;
    layout.text_compact = 56;
    layout.type_bytes = 416;
    layout.type_qualname = 872;
    layout.type_keys = 880;
    layout.generator_frame = 72;
    layout.generator_state = 67;
    return layout;
}();

constexpr ObjectLayout k313 = [] {
    ObjectLayout layout = k312;
    layout.version = 313;
    layout.interpreter_modules = 0;  // from _Py_DebugOffsets
    return layout;
}();

// The stack of a frame is a pointer, and tuples have their hash before their items.
constexpr ObjectLayout k314 = [] {
    ObjectLayout layout = k313;
    layout.version = 314;
    layout.frame_locals = 80;
    layout.tuple_items = 32;
    return layout;
}();

constexpr ObjectLayout k315 = [] {
    ObjectLayout layout = k314;
    layout.version = 315;
    layout.type_bytes = 424;
    layout.type_qualname = 880;
    layout.type_keys = 888;
    layout.generator_ended = 5;
    layout.module_state = 24;
    layout.module_name = 40;
    layout.module_definition = kNone;
    layout.module_state_size = 56;
    layout.bytearray_object = 56;
    return layout;
}();

constexpr ObjectLayout kLayouts[] = {k310, k311, k312, k313, k314, k315};

// Words of _Py_DebugOffsets that the table for stacks does not have.
struct DebugOffsets {
    int version;
    std::size_t modules, frame_locals, tuple_items;
};
constexpr DebugOffsets kDebugOffsets[] = {
    {.version = 313, .modules = 11, .frame_locals = 28 + 4, .tuple_items = 50 + 1},
    {.version = 314, .modules = 12, .frame_locals = 31 + 4, .tuple_items = 56 + 1},
    {.version = 315, .modules = 12, .frame_locals = 39 + 4, .tuple_items = 68 + 1},
};

const ObjectLayout* known_layout(int version) {
    for (const ObjectLayout& layout : kLayouts)
        if (layout.version == version) return &layout;
    return nullptr;
}

ObjectLayoutSearch refused(ObjectsRefusal why) { return {.refusal = why}; }

ObjectLayoutSearch from_debug_offsets(std::span<const std::byte> table) {
    constexpr std::size_t kVersionWord = 1, kFreeThreadedWord = 2;
    constexpr std::uint64_t kMostOffset = std::uint64_t{1} << 20;
    const auto word = [&](std::size_t index) {
        std::uint64_t value = 0;
        std::memcpy(&value, table.data() + index * sizeof value, sizeof value);
        return value;
    };
    const ObjectLayout* known = known_layout(python_version(word(kVersionWord)));
    if (known == nullptr) return refused(ObjectsRefusal::version);
    if (word(kFreeThreadedWord) != 0) return refused(ObjectsRefusal::free_threaded);
    const auto stack = python_layout(table);
    if (!stack) return refused(ObjectsRefusal::version);
    for (const DebugOffsets& at : kDebugOffsets) {
        if (at.version != known->version) continue;
        ObjectLayoutSearch search{.layout = *known};
        search.layout.stack = *stack;
        search.layout.interpreter_modules = static_cast<std::uint32_t>(word(at.modules));
        // The layouts of frames and tuples never changed within a minor version. If this table has
        // other values, the process has forged it.
        const bool sound = word(at.modules) < kMostOffset && word(at.frame_locals) == known->frame_locals &&
                           word(at.tuple_items) == known->tuple_items;
        return sound ? search : refused(ObjectsRefusal::version);
    }
    return refused(ObjectsRefusal::version);
}

}  // namespace

ObjectLayoutSearch find_object_layout(HeapCopy& memory, Address runtime, std::optional<int> version) {
    constexpr int kFirstWithTable = 313;
    std::array<std::byte, kDebugOffsetsBytes> table{};
    memory.read(runtime, table);
    ObjectLayoutSearch search;
    if (has_debug_offsets(table)) {
        search = from_debug_offsets(table);
    } else {
        if (!version) return refused(ObjectsRefusal::version);
        const ObjectLayout* known = known_layout(*version);
        if (known == nullptr) return refused(ObjectsRefusal::version);
        const auto stack = *version < kFirstWithTable ? python_layout(*version) : Result<ms_python>(plain_error(""));
        if (!stack) return refused(ObjectsRefusal::not_found);
        search.layout = *known;
        search.layout.stack = *stack;
    }
    search.layout.stack.runtime = runtime;
    return search;
}

}  // namespace memscope
