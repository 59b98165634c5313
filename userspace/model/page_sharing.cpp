#include "model/page_sharing.h"

namespace memscope {

std::optional<Bytes> PageSharing::private_anon() const {
    if (!pss_shmem) return std::nullopt;
    return std::min(private_dirty - *pss_shmem, anonymous);
}

}  // namespace memscope
