#include "model/growth/growth.h"

#include <utility>

namespace memscope {

std::string_view name_of(PlaneKind plane) {
    constexpr std::string_view kNames[] = {"resident", "mapped", "tensors_host", "gpu", "pinned"};
    static_assert(std::size(kNames) == kPlanes);
    return kNames[static_cast<std::size_t>(plane)];
}

std::string_view name_of(ResidentMethod method) {
    constexpr std::string_view kNames[] = {"live", "first_touch", "none"};
    return kNames[static_cast<std::size_t>(method)];
}

const GrowthPlane& Growth::plane(PlaneKind kind) const {
    switch (kind) {
        case PlaneKind::resident:
            return resident;
        case PlaneKind::mapped:
            return mapped;
        case PlaneKind::tensors_host:
            return tensors_host;
        case PlaneKind::gpu:
            return gpu;
        case PlaneKind::pinned:
            break;
    }
    return pinned;
}

GrowthPlane& Growth::plane(PlaneKind kind) { return const_cast<GrowthPlane&>(std::as_const(*this).plane(kind)); }

}  // namespace memscope
