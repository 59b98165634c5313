#include "view/tty_writer.h"

#include <algorithm>
#include <fcntl.h>
#include <poll.h>

namespace memscope::view {
namespace {

constexpr std::size_t kPolledBytes = 256;  // a terminal that polls writable takes about this much at once

bool writable(int fd, int timeout_ms) {
    pollfd terminal{.fd = fd, .events = POLLOUT, .revents = 0};
    return ::poll(&terminal, 1, timeout_ms) > 0;
}

}  // namespace

Result<TtyWriter> TtyWriter::open(int fd) {
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    Fd own(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
    if (own) return TtyWriter(std::move(own), true);
    Fd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));  // another user's terminal, which we may write but not open
    if (!copy) return system_error(errno, "write to the terminal");
    return TtyWriter(std::move(copy), false);
}

void TtyWriter::push() {
    std::size_t done = 0;
    while (done < pending_.size() && !hung_up_) {
        if (!own_ && !writable(fd_.get(), 0)) break;
        const std::size_t most = own_ ? pending_.size() - done : std::min(pending_.size() - done, kPolledBytes);
        const auto n = ::write(fd_.get(), pending_.data() + done, most);
        if (n > 0)
            done += static_cast<std::size_t>(n);
        else if (n < 0 && errno == EINTR)
            continue;
        else if (n < 0 && errno != EAGAIN)
            hung_up_ = true;
        else
            break;
    }
    pending_.erase(0, done);
    if (hung_up_) pending_.clear();
}

bool TtyWriter::idle() {
    push();
    return pending_.empty();
}

void TtyWriter::write(const std::string& bytes) {
    pending_ += bytes;
    push();
}

void TtyWriter::finish(int patience_ms) {
    for (push(); !pending_.empty() && writable(fd_.get(), patience_ms);) {
        const std::size_t before = pending_.size();
        push();
        if (pending_.size() == before) break;
    }
}

}  // namespace memscope::view
