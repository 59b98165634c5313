#include "model/precursor.h"

namespace memscope {

std::string_view name_of(PrecursorKind kind) {
    switch (kind) {
        case PrecursorKind::eta:
            return "eta";
        case PrecursorKind::near_limit:
            return "near_limit";
        case PrecursorKind::pressure:
            return "pressure";
        case PrecursorKind::reclaim:
            return "reclaim";
        case PrecursorKind::refault:
            return "refault";
        case PrecursorKind::high_throttled:
            return "high_throttled";
        case PrecursorKind::shm_full:
            return "shm_full";
        case PrecursorKind::host_low:
            return "host_low";
    }
    return "";
}

}  // namespace memscope
