#pragma once
#include <cstdint>
#include <optional>

#include "model/heap/heap_objects.h"
#include "sources/heap/python/heap_copy.h"
#include <memscope/shared/stacks.h>

namespace memscope {

// Offsets in bytes inside CPython and its objects: 64 bit, with the global interpreter lock.
struct ObjectLayout {
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};

    ms_python stack{};  // interpreters, threads, frames and code objects; with the address of _PyRuntime
    int version = 0;    // 311
    std::uint32_t interpreter_modules = 0;
    // A frame: PyFrameObject in 3.10, _PyInterpreterFrame later.
    std::uint32_t frame_function = 0, frame_names = 0, frame_stack = 0, frame_locals = 0;
    std::uint32_t code_local_names = 0, code_locals = 0, code_stack_size = 0;
    std::uint32_t tuple_items = 0, text_compact = 0;
    std::uint32_t keys_entries = 0, keys_indices = 0;  // of a dict
    std::uint32_t type_bytes = 0;                      // PyTypeObject; the fields of heap types follow it
    std::uint32_t type_qualname = 0, type_keys = 0;
    std::uint32_t generator_frame = 0, generator_state = 0;
    std::int8_t generator_ended = 1;  // states from this one on: the frame has ended
    std::uint32_t module_state = 32, module_name = 48;
    // Size of the state of a module: in its definition, or from 3.15 on in the module itself.
    std::uint32_t module_definition = 24, module_state_size = kNone;
    std::uint32_t bytearray_object = kNone;  // from 3.15 on, the buffer of a bytearray is a bytes object
};

struct ObjectLayoutSearch {
    ObjectsRefusal refusal = ObjectsRefusal::none;
    ObjectLayout layout{};  // set if not refused
};
// `runtime`: address of _PyRuntime. `version`: from the file of the interpreter; versions from 3.13 on describe
// themselves.
ObjectLayoutSearch find_object_layout(HeapCopy& memory, Address runtime, std::optional<int> version);

}  // namespace memscope
