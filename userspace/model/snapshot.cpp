#include "model/snapshot.h"

namespace memscope {

std::string_view name_of(VerdictScope scope) {
    static constexpr std::string_view kNames[] = {"target", "role", "gpu", "pinned"};
    return kNames[static_cast<std::size_t>(scope)];
}

std::string_view name_of(GrowthCause::Kind kind) {
    static constexpr std::string_view kNames[] = {"unsharing", "shared_memory", "page_tables", "kernel"};
    return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace memscope
