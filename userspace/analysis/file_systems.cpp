#include "analysis/file_systems.h"

#include <fmt/format.h>
#include <linux/magic.h>

namespace memscope {

std::string file_system_name(std::uint64_t magic) {
    switch (magic) {
        case TMPFS_MAGIC:
            return "tmpfs";
        case HUGETLBFS_MAGIC:
            return "hugetlbfs";
        case EXT4_SUPER_MAGIC:
            return "ext4";
        case XFS_SUPER_MAGIC:
            return "xfs";
        case BTRFS_SUPER_MAGIC:
            return "btrfs";
        case OVERLAYFS_SUPER_MAGIC:
            return "overlay";
        case NFS_SUPER_MAGIC:
            return "nfs";
        default:
            return fmt::format("{:#x}", magic);
    }
}

}  // namespace memscope
