#include "cli/signals.h"

#include <cerrno>
#include <csignal>
#include <sys/signalfd.h>

namespace memscope {

Result<Fd> open_signals(std::initializer_list<int> signals) {
    sigset_t wanted;
    sigemptyset(&wanted);
    for (const int signal : signals) sigaddset(&wanted, signal);
    if (::sigprocmask(SIG_BLOCK, &wanted, nullptr) != 0) return system_error(errno, "sigprocmask");
    Fd arriving(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!arriving) return system_error(errno, "signalfd");
    return arriving;
}

}  // namespace memscope
