#include "model/heap_objects.h"

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

}  // namespace memscope
