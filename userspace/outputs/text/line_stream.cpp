#include "outputs/text/line_stream.h"

#include <algorithm>
#include <climits>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <utility>

#include "base/deadline.h"

namespace memscope {
namespace {

// Enough for a tick of some thousand processes, and the most that the kernel gives an unprivileged user by default.
constexpr int kPipeBytes = 1 << 20;

bool ready_to_write(int fd) {
    pollfd poll_fd{fd, POLLOUT, 0};
    return ::poll(&poll_fd, 1, 0) > 0;
}

// The reader is gone, or the terminal hung up. All other errors (full pipe, full disk) can be temporary.
bool means_closed(int error) {
    return error == EPIPE || error == EIO || error == EBADF || error == ECONNRESET || error == ENOTCONN ||
           error == EINVAL || error == ENXIO;
}

}  // namespace

Result<LineStream> LineStream::open(int fd) {
    const std::string where = "write to descriptor " + std::to_string(fd);
    struct stat file{};
    if (::fstat(fd, &file) != 0) return system_error(errno, where);
    const int access = ::fcntl(fd, F_GETFL) & O_ACCMODE;
    if (access == O_RDONLY) return system_error(EBADF, where, "it is open for reading only");
    if (!S_ISREG(file.st_mode) && !S_ISSOCK(file.st_mode)) {
        const std::string path = "/proc/self/fd/" + std::to_string(fd);
        Fd own(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
        if (own && S_ISFIFO(file.st_mode)) ::fcntl(own.get(), F_SETPIPE_SZ, kPipeBytes);  // may be refused
        if (own) return LineStream(std::move(own), Kind::nonblocking, false);
        if (errno == ENXIO) return LineStream(Fd(), Kind::nonblocking, true);  // a pipe without a reader
    }
    Fd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!copy) return system_error(errno, where);
    // `polled`: a pipe of another user, which we may write to but not open again.
    const Kind kind = S_ISREG(file.st_mode) ? Kind::file : S_ISSOCK(file.st_mode) ? Kind::socket : Kind::polled;
    return LineStream(std::move(copy), kind, false);
}

long LineStream::write_once(std::string_view bytes) const {
    switch (kind_) {
        case Kind::socket:
            return ::send(fd_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        case Kind::polled:
            // A pipe that poll() reports as writable has room for PIPE_BUF bytes, so this write does not block.
            if (!ready_to_write(fd_.get())) {
                errno = EAGAIN;
                return -1;
            }
            return ::write(fd_.get(), bytes.data(), std::min<std::size_t>(bytes.size(), PIPE_BUF));
        case Kind::nonblocking:
        case Kind::file:
            break;
    }
    return ::write(fd_.get(), bytes.data(), bytes.size());
}

LineStream::Push LineStream::push() {
    while (done_ < pending_.size()) {
        const long n = write_once(std::string_view(pending_).substr(done_));
        if (n > 0) {
            done_ += static_cast<std::size_t>(n);
        } else if (n < 0 && errno == EINTR) {
            continue;
        } else if (n < 0 && means_closed(errno)) {
            closed_ = true;
            return Push::closed;
        } else {
            if (n < 0 && errno != EAGAIN && failed_with_ == 0) failed_with_ = errno;
            return Push::blocked;
        }
    }
    pending_.clear();
    done_ = 0;
    return Push::done;
}

std::optional<Error> LineStream::take_trouble() {
    if (failed_with_ == 0 || std::exchange(trouble_reported_, true)) return std::nullopt;
    return system_error(failed_with_, "write to standard output", "the output that could not be written is lost");
}

LineStream::Outcome LineStream::skip() {
    ++skipped_;
    return Outcome::skipped;
}

void LineStream::append(const std::vector<std::string>& lines) {
    pending_.erase(0, std::exchange(done_, 0));
    for (const std::string& line : lines) pending_ += line + "\n";
}

LineStream::Outcome LineStream::write_lines(const std::vector<std::string>& lines) {
    if (closed_) return Outcome::closed;
    if (pending_.size() - done_ > kMostWaiting) return skip();
    append(lines);
    return push() == Push::closed ? Outcome::closed : Outcome::written;
}

LineStream::Outcome LineStream::write_tick(const std::vector<std::string>& lines) {
    if (closed_) return Outcome::closed;
    if (!pending_.empty()) {
        const Push rest = push();
        if (rest == Push::closed) return Outcome::closed;
        if (rest == Push::blocked) return skip();
    }
    append(lines);
    const Push result = push();
    if (result == Push::closed) return Outcome::closed;
    if (result == Push::blocked && done_ == 0) {  // nothing of the tick was written, so no line is cut
        pending_.clear();
        return skip();
    }
    return Outcome::written;
}

LineStream::Outcome LineStream::write_rest() {
    if (!closed_ && !pending_.empty()) (void)push();
    return closed_ ? Outcome::closed : Outcome::written;
}

void LineStream::finish(Seconds at_most) {
    if (closed_ || pending_.empty() || push() != Push::blocked || kind_ == Kind::file) return;
    const auto deadline = Deadline::in(at_most);
    while (deadline && deadline->wait_for(fd_.get(), POLLOUT) == Deadline::Wait::ready)
        if (push() != Push::blocked) return;
}

}  // namespace memscope
