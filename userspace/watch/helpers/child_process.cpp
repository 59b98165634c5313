#include "watch/helpers/child_process.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace memscope {

Fd close_other_descriptors(Fd kept) {
    constexpr unsigned kFirst = 3;
    if (kept.get() != static_cast<int>(kFirst)) {
        if (::dup3(kept.get(), kFirst, O_CLOEXEC) < 0) ::_exit(1);
        (void)kept.release();
    }
    if (::syscall(SYS_close_range, kFirst + 1, ~0U, 0) == 0) return Fd(kFirst);
    const long most = ::sysconf(_SC_OPEN_MAX);
    for (int fd = kFirst + 1; fd < most; ++fd) ::close(fd);
    return Fd(kFirst);
}

}  // namespace memscope
