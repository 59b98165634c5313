#include "model/heap/heap_objects.h"

namespace memscope {

std::string_view name_of(HolderRoot root) {
    switch (root) {
        case HolderRoot::module:
            return "module";
        case HolderRoot::frame:
            return "frame";
        case HolderRoot::thread:
            return "thread";
        case HolderRoot::type:
            return "type";
        case HolderRoot::other:
            return "other";
    }
    return "";
}

std::string_view name_of(HolderKind kind) {
    switch (kind) {
        case HolderKind::container:
            return "container";
        case HolderKind::tensor:
            return "tensor";
        case HolderKind::array:
            return "array";
        case HolderKind::object:
            return "object";
        case HolderKind::native:
            return "native";
    }
    return "";
}

std::string_view name_of(ObjectsRefusal refusal) {
    switch (refusal) {
        case ObjectsRefusal::none:
            return "none";
        case ObjectsRefusal::version:
            return "version";
        case ObjectsRefusal::debug_build:
            return "debug_build";
        case ObjectsRefusal::free_threaded:
            return "free_threaded";
        case ObjectsRefusal::not_found:
            return "not_found";
    }
    return "";
}

Bytes approximate_size(const ObjectCensus& objects) {
    std::size_t sum = sizeof objects + objects.tensor_totals.capacity() * sizeof(TensorTotal);
    for (const ObjectsOfType& type : objects.types) sum += sizeof type + type.type.capacity();
    for (const TensorGroup& group : objects.tensors)
        sum += sizeof group + group.shape.capacity() * sizeof(std::uint64_t);
    for (const ArrayGroup& group : objects.arrays) sum += sizeof group + group.shape.capacity() * sizeof(std::uint64_t);
    for (const Holder& holder : objects.holders)
        sum += sizeof holder + holder.path.capacity() + holder.type.capacity() + holder.element.capacity();
    return {sum};
}

}  // namespace memscope
