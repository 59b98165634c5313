#include "model/gpu/gpu_account.h"

namespace memscope {

GpuId gpu_id(const GpuUuid& uuid) {
    constexpr char kDigits[] = "0123456789abcdef";
    GpuId id = "GPU";
    for (std::size_t i = 0; i < uuid.size(); ++i) {
        if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) id += '-';
        id += kDigits[uuid[i] >> 4U];
        id += kDigits[uuid[i] & 0xFU];
    }
    return id;
}

}  // namespace memscope
